"""Platforms and engines whose files kvplan recognises and does not read, as data.

A platform is told by keys that its own schema has; an engine by its image or its program. What to do instead is said
with each. Source: the platforms' public references, and samples of each form.
"""

from __future__ import annotations

from typing import Final, NamedTuple

OWN_FILE: Final = 'describe it in kvplan\'s own deployment file: schema = "kvplan.deployment/1"'
RENDER: Final = "render it first: helm template CHART -f VALUES | kvplan check -"
YAML: Final = (".yaml", ".yml", "")
JSON: Final = (".json", "")
ENGINE_WORD: Final = r"(?i)vllm|sglang|tensorrt.?llm|trt.?llm|llama.?cpp|llama-server|ollama|text-generation-inference"

_ENGINE = ENGINE_WORD.removeprefix("(?i)")
RUNS_AN_ENGINE: Final = (
    r"(?im)^[ \t]*(?:-[ \t]+)*(?:[\w.][\w.-]{0,80})?"
    r"(?:image|repository|registry|command|cmd|args|entrypoint|engine|chart)[\w.-]{0,80}[ \t]*:"
    rf"[^#\n]*(?:{_ENGINE})"
    rf"|^[ \t]*(?:{_ENGINE})[ \t]*:[ \t]*(?:#.*)?$"
    r"|^[ \t-]*[\"']?(?:--)?(?:max[-_]?model[-_]?len|tensor[-_]?parallel[-_]?size|gpu[-_]?memory[-_]?utilization"
    r"|max[-_]?num[-_]?seqs|mem[-_]fraction[-_]static|ctx[-_]size|modelSpec)[\"' \t]*[:= ]"
)
"""An engine's image, command or chart, a part of a chart that is called by it, or a flag of its own."""


class Platform(NamedTuple):
    """Every pattern is in the file."""

    called: str
    patterns: tuple[str, ...]
    advice: str = OWN_FILE
    suffixes: tuple[str, ...] = YAML
    names: str = ""
    """A pattern that the file's name has as well."""


class OtherEngine(NamedTuple):
    """An engine that is started in files of forms that kvplan reads."""

    called: str
    words: tuple[str, ...]
    """One of them is in every text that the pattern meets: a regular expression over a large file is slow."""
    pattern: str


def top(*keys: str) -> str:
    """A key of the outermost map, or of a list of maps."""
    return rf"(?m)^(?:-[ \t]+)?[\"']?(?:{'|'.join(keys)})[\"']?[ \t]*:"


def inner(*keys: str) -> str:
    """A key further inside."""
    return rf"(?m)^[ \t]+(?:-[ \t]+)?[\"']?(?:{'|'.join(keys)})[\"']?[ \t]*:"


def kind(*names: str) -> str:
    """A Kubernetes kind."""
    return rf"(?m)^[ \t-]*[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?(?:{'|'.join(names)})\b"


def quoted(*keys: str) -> str:
    """A key of JSON."""
    return rf"\"(?:{'|'.join(keys)})\"[ \t]*:"


PLATFORMS: Final = (
    Platform("a Flux HelmRelease", (kind("HelmRelease"), RUNS_AN_ENGINE), RENDER),
    Platform(
        "an Argo CD application with values of a chart",
        (
            kind("Application", "ApplicationSet"),
            r"argoproj\.io",
            inner("values", "valuesObject", "parameters"),
            RUNS_AN_ENGINE,
        ),
        RENDER,
    ),
    Platform(
        "a Truss configuration",
        (
            top("model_metadata", "docker_server", "build_commands", "trt_llm", "base_image", "model_name"),
            top("resources"),
            inner("accelerator", "use_gpu"),
            ENGINE_WORD,
        ),
    ),
    Platform("a FlagScale serve configuration", (top("serve_id"), inner("engine", "engine_args"))),
    Platform("a BentoVLLM recipe", (top("args"), inner("gpu_type"), inner("model_id"))),
    Platform(
        "a BentoML service file",
        (top("service"), top("include", "python", "docker", "envs", "labels"), ENGINE_WORD),
        names=r"^bentofile",
    ),
    Platform(
        "an OCI AI blueprint",
        (quoted("recipe_id", "recipe_mode"), quoted("recipe_image_uri", "recipe_node_shape")),
        suffixes=JSON,
    ),
    Platform(
        "an srt-slurm recipe",
        (top("resources"), top("backend"), inner("sglang_config", "trtllm_config", "vllm_config", "gpus_per_node")),
    ),
    Platform(
        "a vLLM recipe",
        (top("meta"), top("model"), inner("model_id"), top("variants", "features", "compatible_strategies")),
        "check the command that you run: a recipe leaves its parts to be chosen",
    ),
    Platform(
        "a SageMaker recipe or endpoint configuration",
        (r"(?i)[\"']?instance_?type[\"']?[ \t]*[:=][ \t]*[\"']?ml\.[a-z0-9]+\.", ENGINE_WORD + r"|djl|HF_MODEL_ID"),
        suffixes=(*YAML, ".json", ".tf"),
    ),
    Platform(
        "a RunPod template or endpoint",
        (
            r"(?i)runpod|\"?imageName\"?|\"?dockerArgs\"?",
            r"\"?(?:gpuTypeIds?|gpuIds|gpuCount|containerDiskInGb)\"?[ \t]*:",
        ),
        suffixes=(*YAML, ".json"),
    ),
    Platform("a dstack configuration", (r"(?m)^type[ \t]*:[ \t]*(?:service|task)\b", top("commands"), ENGINE_WORD)),
    Platform(
        "a NIM service",
        (kind("NIMService", "NIMPipeline"),),
        "a NIM chooses its own profile: say what it chose in kvplan's own deployment file",
    ),
    Platform("a Seldon deployment", (kind("SeldonDeployment", "Model"), r"seldon\.io")),
    Platform("a Nomad job", (r"(?m)^job[ \t]+\"", ENGINE_WORD), suffixes=(".nomad", ".hcl")),
    Platform(
        "a Terraform configuration",
        (r"(?m)^(?:resource|module|variable|locals|data|provider)\b[^\n]*\{", ENGINE_WORD),
        "check the manifest or the command that it makes",
        (".tf",),
    ),
    Platform(
        "an Ansible playbook",
        (top("hosts"), r"(?m)^[ \t-]*tasks[ \t]*:", ENGINE_WORD),
        "check the file that it writes, or the command that it runs",
    ),
    Platform(
        "variables of Text Generation Inference (TGI)",
        (r"(?m)^MODEL_ID[ \t]*=", r"(?m)^(?:NUM_SHARD|MAX_TOTAL_TOKENS|MAX_BATCH_PREFILL_TOKENS)[ \t]*="),
        suffixes=(".env", ""),
    ),
    Platform(
        "a CloudFormation template",
        (top("AWSTemplateFormatVersion", "Resources"), r"AWS::", ENGINE_WORD),
        "check the command that its instances run",
        (*YAML, ".json", ".template"),
    ),
)

ENGINES: Final = (
    OtherEngine(
        "Text Generation Inference (TGI)",
        ("text-generation-", "tgi-gaudi"),
        r"text-generation-(?:inference|launcher)|tgi-gaudi",
    ),
    OtherEngine("Triton Inference Server", ("tritonserver:",), r"nvidia/tritonserver:[\w.-]*(?:trtllm|vllm)"),
    OtherEngine("LMDeploy", ("lmdeploy",), r"\blmdeploy[ \t]+serve\b|openmmlab/lmdeploy"),
    OtherEngine("MLC LLM", ("mlc_llm",), r"\bmlc_llm[ \t]+serve\b"),
    OtherEngine("Aphrodite", ("aphrodite",), r"\baphrodite[ \t]+run\b|alpindale/aphrodite"),
    OtherEngine("TabbyAPI", ("tabbyapi",), r"theroyallab/tabbyapi"),
    OtherEngine("LocalAI", ("local-ai", "localai"), r"(?:quay\.io/go-skynet|localai)/local-?ai\b"),
    OtherEngine("DJL Serving", ("djl-",), r"deepjavalibrary/djl-serving|/djl-inference:"),
    OtherEngine("Xinference", ("xinference",), r"xprobe/xinference\b|\bxinference-local\b"),
    OtherEngine("DeepSpeed-MII", ("mii.serve",), r"\bmii\.serve\("),
)

TRACES: Final = (
    b"text-generation-", b"tgi-gaudi", b"MAX_TOTAL_TOKENS", b"NUM_SHARD", b"MAX_BATCH_PREFILL", b"tritonserver",
    b"lmdeploy",
    b"mlc_llm", b"aphrodite", b"tabbyapi", b"local-ai", b"localai", b"djl", b"xinference", b"mii.serve", b"modelSpec",
    b"ctx", b"sglang", b"ollama", b"tensorrt", b"trt", b"llama", b"serve_id", b"gpu_type", b"recipe_", b"gpus_per_node",
    b"compatible_strategies", b"variants", b"features", b"HF_MODEL_ID", b"gpuType", b"gpuIds", b"gpuCount",
    b"containerDiskInGb", b"NIMService", b"NIMPipeline", b"seldon.io", b"_config:",
)  # fmt: skip
"""Texts of which every file of these has one, beside those of the engines that kvplan judges."""
