"""Container images: is it vLLM's, and which version does its tag name?"""

from __future__ import annotations

import re

_OFFICIAL = re.compile(r"(?:^|/)vllm-openai(?:-[a-z0-9]+)?(?::([\w.+-]+))?(?:@sha256:[0-9a-f]+)?$")
_RELEASE = re.compile(r"^v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:rc|post|dev)\d+)?)(?=$|[-+_])")
_NAMED_RELEASE = re.compile(r"vllm[_-]?v?(\d+\.\d+\.\d+)")
_OTHER_PRODUCTS = ("lmcache/", "aibrix", "production-stack")
"""Images of other projects with vLLM inside: their tags count their own releases."""


def is_vllm_image(image: str) -> bool:
    """Whether a container of this image starts vLLM when it is given arguments alone."""
    return _OFFICIAL.search(image) is not None


def vllm_version(image: str) -> str | None:
    """``vllm/vllm-openai:v0.9.1`` -> ``0.9.1``; None where the tag does not name a release (``latest``, a digest)."""
    if any(product in image for product in _OTHER_PRODUCTS):
        named = _NAMED_RELEASE.search(image.rsplit(":", 1)[-1])
        return named[1] if named else None
    official = _OFFICIAL.search(image)
    if official is not None:
        release = _RELEASE.match(official[1] or "")
        return release[1] if release else None
    named = _NAMED_RELEASE.search(image.rsplit(":", 1)[-1])
    return named[1] if named else None
