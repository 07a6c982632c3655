"""What the budgets, figures and verdicts of kvplan's answers mean: one paragraph each, for ``kvplan explain``."""

from __future__ import annotations

from typing import NamedTuple


class FigureText(NamedTuple):
    """One figure in words."""

    name: str
    title: str
    unit: str
    text: str
    formula: tuple[str, ...] = ()
    source: str = ""
    see: tuple[str, ...] = ()


_BUDGETS = (
    FigureText(
        "hbm",
        "memory of one GPU",
        "bytes, per GPU",
        "What weights, activations, the engine's runtime, captured graphs and the KV cache take on the fullest GPU, "
        "against what the engine may use of it. The total is what CUDA or the platform reports, not the number on the "
        "box: an 80 GB H100 has 79.2 GiB.",
        (
            "used  = weights + KV + activations + runtime + graphs",
            "limit = total x --gpu-memory-utilization (or what the named engine takes by default)",
        ),
        "start-up logs of the engines, by version",
        ("weight_bytes", "activation_bytes", "runtime_bytes", "graph_bytes", "kv_pool_bytes"),
    ),
    FigureText(
        "dram_capacity",
        "host memory that is there",
        "bytes, whole host",
        "Host memory that offloaded KV or weights, the engine's processes and other tenants take, against what is "
        "installed less what the operating system keeps. Without an offload only the engine's own processes count.",
        ("used = (offloaded KV + spilled weights + reuse + engine processes) x tenants + others",),
        "see kvplan explain HOST for what is installed",
        ("dram_bandwidth", "tenants"),
    ),
    FigureText(
        "dram_bandwidth",
        "rate of host memory",
        "bytes per second, whole host",
        "Every byte that crosses a CPU-GPU link is read from host memory or written to it, and attention on the CPU "
        "reads its KV there; both at the pace of the ITL objective. CPU attention does not reach the whole rate, so its "
        "bytes are divided by the share that it does.",
        ("used = (bytes over all links + bytes that cores read / reachable share) / ITL objective",),
        "MagicPIG and KTransformers: 80 to 105 GB/s at the limit of two sockets",
        ("link", "cpu_cores"),
    ),
    FigureText(
        "link",
        "the way from host memory to one GPU",
        "bytes per second, per GPU",
        "PCIe, NVLink-C2C, or nothing where memory is unified. Charged with KV and weights that cross it in every step, "
        "prefixes that are reloaded, prompts that are written out, and all-reduces where GPUs have no link of their own. "
        "The limit is the rate of large pinned copies to one GPU, shared where GPUs share an uplink; small transfers "
        "reach less of it, and each strategy says how much.",
        ("used = bytes a step / ITL objective / share of the rate at that transfer size + requests/s x bytes",),
        "nvbandwidth runs on hosts of each class",
        ("offload-stream", "offload-retrieve", "ttft"),
    ),
    FigureText(
        "cpu_cores",
        "physical CPU cores",
        "cores, whole host",
        "Cores that the engine's processes keep busy, that look up an index, and that attend to KV in host memory. "
        "A cloud's vCPU is one thread, mostly half a core.",
        ("used = engine + look-up cores x GPUs + bytes that cores read a second / rate of one core",),
        "ScoutAttention: 36 cores read about 100 GB/s; RetroInfer: 24 threads a GPU",
        ("offload-cpu-attention", "offload-retrieve"),
    ),
)

_OBJECTIVES = (
    FigureText(
        "itl",
        "time per token, and the objective for it",
        "seconds; --itl-ms is in milliseconds, 50 by default",
        "Time from one token to the next of a sequence, when all users decode at full context. It is both an answer "
        "(itl_s) and an objective: offloads that work at a slow pace fail at a fast one, so the rates on the link, on "
        "host memory and on the cores are taken at the objective's pace.",
        ("T = t0 + layers x t_sync + all-reduces + max(GPU, link or CPU) + the part that does not overlap",),
        "one form of the step equations of FlexGen, RetroInfer, ScoutAttention, MagicPIG and NEO",
        ("ttft", "decode_tokens_per_s"),
    ),
    FigureText(
        "ttft",
        "time to the first token, and the objective for it",
        "seconds; --ttft-ms is in milliseconds, no objective by default",
        "Prefill of the whole prompt on an idle replica, after the reload of what is found in host memory. Queueing is "
        "not modelled, so a busy server is slower.",
        ("TTFT = hit tokens x KV bytes / link rate + 12 ms + prefill of the rest + one step's overhead",),
        "vLLM offloading connector: 10 points, 6.2 % mean error",
        ("itl", "offload-reuse"),
    ),
    FigureText(
        "margin",
        "what must stay free",
        "a fraction of each budget; --margin, 0.05 by default",
        "A plan whose best estimate uses more than 1 - margin of a budget is TIGHT and not FITS.",
        (),
        "",
        ("fits", "tight"),
    ),
)

_OTHER_LIMITS = (
    FigureText(
        "kernel",
        "a KV format without a kernel",
        "",
        "The engine has no attention kernel that reads this KV format on this GPU, whatever the memory. Where sources "
        "do not settle whether there is one, the verdict is UNKNOWN.",
        see=("kv-fp8", "kv-nvfp4"),
    ),
    FigureText(
        "context",
        "the model's own limit, or what is asked for",
        "tokens",
        "Prompt and output of one sequence together. A context beyond the model's position limit is refused: the figures "
        "would be right and the text wrong.",
        see=("context_tokens_max",),
    ),
    FigureText(
        "topology",
        "a layout that cannot be started",
        "",
        "Tensor parallelism splits heads, so the attention heads must divide by it, and the KV heads must divide by it or "
        "it by them; pipeline stages must not outnumber the layers; tp x pp x dp must not exceed the GPUs.",
    ),
    FigureText(
        "unified",
        "one pool of memory",
        "",
        "On Macs, DGX Spark, Jetson and Strix Halo the GPU uses the host's memory. Moving KV to host memory then moves "
        "it nowhere: every offload is N/A, and what helps is fewer bytes.",
        see=("kv-fp8", "kv-q8_0"),
    ),
    FigureText(
        "tenants",
        "deployments like this one on the host",
        "a count; --tenants",
        "They share host memory, cores and links, each with GPUs of its own, and so multiply every demand on those.",
        see=("dram_capacity", "link", "cpu_cores"),
    ),
)

_ANSWERS = (
    FigureText(
        "users_max",
        "most users that fit",
        "sequences at --context",
        "The most sequences of the context asked for that every budget and objective holds at once. The low end of the "
        "interval is the pessimistic one.",
        see=("hbm", "itl"),
    ),
    FigureText(
        "context_tokens_max",
        "longest context that fits",
        "tokens",
        "The longest context that the asked-for users can all have, up to the model's own limit.",
        see=("context",),
    ),
    FigureText(
        "decode_tokens_per_s",
        "tokens of all users together",
        "tokens per second",
        "What all users decode in a second at full context: their number over the time per token. Shorter sequences are "
        "faster, so it is a floor for a mixed load.",
        ("rate = users / itl",),
        see=("itl",),
    ),
    FigureText(
        "kv_bytes_per_token",
        "KV cache of one token",
        "bytes, per GPU",
        "What one more token of one sequence costs on one GPU, over all layers that keep every token. Layers with a "
        "window stop growing and are counted for each sequence instead. MLA keeps one latent for all heads, whole on "
        "every GPU of a serving engine; with more GPUs than KV heads those are copied too.",
        ("KV heads on the GPU x (key + value width) x bytes per element x layers",),
        "config.json of the model; kvplan kv shows it by kind of layer",
        ("kv_bytes_fixed_per_sequence",),
    ),
    FigureText(
        "kv_bytes_fixed_per_sequence",
        "KV that stops growing",
        "bytes for each sequence, per GPU",
        "Full windows of sliding layers, and states. A sequence that is shorter than a window takes less.",
        ("window tokens x bytes per token, summed over kinds of windowed layers",),
        see=("kv_bytes_per_token",),
    ),
    FigureText(
        "kv_pool_bytes",
        "what is left for KV",
        "bytes, per GPU",
        "The budget less weights, activations, runtime and graphs. An engine takes all of it at start-up.",
        ("budget - weights - activations - runtime - graphs",),
        "start-up logs of the engines, by version",
        ("hbm", "max_concurrency"),
    ),
    FigureText(
        "max_concurrency",
        "sequences that a pool holds",
        "sequences of --context",
        "Pool bytes over the bytes of one sequence at the context asked for. Without windows the tokens of the pool are "
        "its bytes over the bytes of a token; with windows they are max concurrency x context, since there a token's "
        "cost depends on its place.",
        ("pool bytes / KV bytes of one sequence",),
        see=("kv_bytes_per_token",),
    ),
    FigureText(
        "weight_bytes",
        "weights on one GPU",
        "bytes, per GPU",
        "Elements that the checkpoint stores times the bits of the weight type, scales included, over the GPUs that share "
        "a replica. Embeddings, the head, norms and routers stay in 16 bits in the types of serving engines.",
        ("(quantized elements x bits + other elements x 16) / 8 / (tp x pp)",),
        "config.json of the model; element counts of published checkpoints",
    ),
    FigureText(
        "activation_bytes",
        "what a forward pass needs",
        "bytes, per GPU",
        "The largest of the sampler's logits and one layer's intermediate values, for the most tokens and sequences that "
        "the engine schedules in a step.",
        ("max(sampler, layer) + workspace of the experts",),
        "vLLM start-up profiles",
        ("hbm",),
    ),
    FigureText(
        "runtime_bytes",
        "the engine's own memory on a GPU",
        "bytes, per GPU",
        "CUDA context, communication buffers and tables: what is taken before any model is loaded.",
        source="start-up logs of the engines, by version",
        see=("hbm",),
    ),
    FigureText(
        "graph_bytes",
        "captured graphs",
        "bytes, per GPU",
        "Memory that recorded CUDA graphs hold. vLLM counts it inside its budget since 0.21; --enforce-eager has none.",
        source="vLLM start-up logs",
        see=("hbm",),
    ),
    FigureText(
        "accuracy",
        "published loss of a strategy",
        "points of a benchmark",
        "What the strategy's authors or others measured against full attention in 16 bits. Where nothing was published "
        "it is unknown, not zero. Losses of a combination are added up.",
        see=("offload-retrieve", "kv-fp8"),
    ),
)

_OUTCOMES = (
    FigureText("fits", "FITS", "", "Every budget holds even at the pessimistic end, and the margin stays free.",
               see=("margin",)),
    FigureText("tight", "TIGHT", "", "The best estimate is inside every budget; the pessimistic end, or the margin, is not.",
               see=("margin",)),
    FigureText("unlikely", "UNLIKELY", "", "The best estimate is over a budget; only the optimistic end is inside."),
    FigureText("no", "NO", "", "Even the optimistic end is over a budget, or the strategy cannot be started at all."),
    FigureText("na", "N/A", "", "The strategy makes no sense here, e.g. an offload where memory is one pool.",
               see=("unified",)),
    FigureText("unknown", "UNKNOWN", "", "An input that the verdict needs is not known, and the answer names it. "
               "kvplan prints no guess; give the input with an override such as --dram-gib."),
)  # fmt: skip

FIGURES: dict[str, FigureText] = {
    figure.name: figure for figure in (*_BUDGETS, *_OBJECTIVES, *_OTHER_LIMITS, *_ANSWERS, *_OUTCOMES)
}

SAME_AS = {
    "itl_s": "itl", "ttft_s": "ttft", "itl-ms": "itl", "ttft-ms": "ttft", "dram": "dram_capacity", "users": "users_max",
    "kv_pool_tokens": "max_concurrency", "n/a": "na", "margin_fraction": "margin",
}  # fmt: skip
"""Other names of a figure: fields of the JSON and flags."""
