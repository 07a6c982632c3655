"""Container images: do they start vLLM, and which version does the tag name?"""

from __future__ import annotations

import re
from typing import Final

from kvplan.deployments.image_tags import parse_image, release_in
from kvplan.engines.versions import release

_STARTED_BY: Final = (
    re.compile(r"(?:^|/)vllm-openai(?:-[a-z0-9]+)*$"),
    re.compile(r"(?:^|/)vllm-cpu-release-repo$"),
    re.compile(r"(?:^|/)vllm(?:-cpu)?-openai-ubi\d$"),
    re.compile(r"(?:^|/)rhaiis/vllm-[\w-]+$"),
    re.compile(r"(?:^|/)rhoai/odh-vllm-[\w-]+$"),
    re.compile(r"(?:^|/)opea/vllm(?:-[a-z0-9]+)?$"),
    re.compile(r"(?:^|/)kserve/huggingfaceserver$"),
    re.compile(r"(?:^|/)cloud_ai_inference_vllm(?:_\w+)?$"),
)
"""Images whose entry point is vLLM's server: its own (Dockerfile, ENTRYPOINT), those of Red Hat AI Inference Server,
OPEA and KServe, which are documented to be run with flags alone. Those of Dynamo, NGC and llm-d need a command."""
_OTHER_RELEASES: Final = ("lmcache/", "production-stack", "llm-d/", "ai-dynamo", "rhaiis/", "rhoai/", "opea/",
                          "kserve/", "cloud_ai_inference", "deep-learning-containers", "openai-ubi")  # fmt: skip
"""Images of other projects with vLLM inside: their tags count their own releases."""
_OWN_NAME: Final = re.compile(
    r"^(?:vllm(?:[-_](?:openai|cpu|cuda|gpu|rocm|tpu|xpu|hpu|neuron|arm64|aarch64|x86|gh\d+|gb\d+|ci|release|repo"
    r"|postmerge|test|dev|nightly|base))*)$"
)
"""Names of images whose tags count vLLM's releases: its own, copies in other registries, and builds for one platform.
``vllm-MODEL`` or ``dspark-vllm-gx10`` is a product of its own, and its tag counts that product's releases."""
_FIRST_RELEASE: Final = (0, 2)
"""Images of vLLM are there from about this release on: a smaller number counts something else."""
_NAMED_RELEASE = re.compile(r"vllm[_-]?v?(\d+\.\d+\.\d+)")
_KVCACHE_RELEASE = re.compile(r"(?:^|-)v?(\d+\.\d+\.\d+)(?=$|[-.])")
_NGC = re.compile(r"^nvcr\.io/nvidia/vllm$")
NGC_RELEASES: Final[dict[str, str]] = {
    "25.10": "0.10.2", "26.01": "0.11.1", "26.03": "0.17.1", "26.05": "0.20.1", "26.10": "0.31.0",
}  # fmt: skip
"""NVIDIA's container of a month -> the vLLM in it. Source: its vLLM release notes, "Contents of the vLLM container"."""


def is_vllm_image(image: str) -> bool:
    """Whether a container of this image starts vLLM when it is given arguments alone."""
    parsed = parse_image(image)
    return parsed is not None and any(pattern.search(parsed.name) for pattern in _STARTED_BY)


def vllm_version(image: str) -> str | None:
    """``vllm/vllm-openai:v0.9.1`` -> ``0.9.1``; None where the tag does not name a release (``latest``, a digest).

    Tags of other products count where vLLM's release stands in them: ``rocm6.4.1_vllm_0.10.0_20250812``.
    """
    parsed = parse_image(image)
    if parsed is None or not parsed.tag:
        return None
    if _NGC.match(parsed.name):
        return NGC_RELEASES.get(parsed.tag[:5])
    named = _NAMED_RELEASE.search(parsed.tag)
    if named is not None:
        return named[1]
    if any(product in f"{parsed.name}:" for product in _OTHER_RELEASES):
        return None
    if "aibrix" in parsed.name:
        built = _KVCACHE_RELEASE.search(parsed.tag) if "vllm-openai" in parsed.name else None
        return built[1] if built else None
    return _own_release(parsed.name.rsplit("/", 1)[-1], parsed.tag)


def _own_release(name: str, tag: str) -> str | None:
    """The release in the tag of an image that counts vLLM's own."""
    named = release_in(tag) if _OWN_NAME.match(name) else None
    return named if named is not None and release(named) >= _FIRST_RELEASE else None
