"""Container images as text: repository, tag, digest, and whether the tag names another version tomorrow."""

from __future__ import annotations

import re
from typing import NamedTuple

_IMAGE = re.compile(
    r"^(?P<name>[^:@\s]+(?::\d+/[^:@\s]+)?)(?::(?P<tag>[\w][\w.+-]*))?(?:@(?P<digest>sha256:[0-9a-f]+))?$"
)
_RELEASE = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:rc|post|dev|a|b)\d+)?)(?=$|[-+_.])")
_PLATFORM = re.compile(
    r"^(?:cu\d*|cuda\d*|rocm[\d.]*|hip\d*|vulkan|musa|xpu|cpu|gpu|hpu|tpu|npu|cann\d*|py\d*|python\d*|cp\d+|ubuntu[\d.]*|ubi\d*"
    r"|rhel\d*|debian|alpine|amd64|arm64|aarch64|x86|64|86|mi\d+x?|gfx\d+\w?|sm\d+|[abhl]\d{2,3}s?|gb\d+|intel|nvidia|amd)$"
)


class Image(NamedTuple):
    """An image reference. Empty texts for what it does not have."""

    name: str
    tag: str
    digest: str


def parse_image(text: str) -> Image | None:
    """``registry:5000/vllm/vllm-openai:v0.9.1@sha256:...``; None for a text with placeholders."""
    match = _IMAGE.match(text.strip())
    return Image(match["name"], match["tag"] or "", match["digest"] or "") if match else None


def release_in(tag: str) -> str | None:
    """The first release number at the front of a tag: ``v0.11.0-x86_64`` -> ``0.11.0``, ``0.23.1-cu130`` -> ``0.23.1``.

    None for ``latest``, a date, a commit, or a name.
    """
    match = _RELEASE.match(tag)
    return match[1] if match else None


def floating_tag(text: str) -> str | None:
    """The tag of an image that is rebuilt under the same name; None for a release, a build, a date or a digest.

    A tag is fixed where a part of it beside the platform has a digit: ``server-cuda-b10236``, not ``latest-cu130``.
    No tag means ``latest``.
    """
    image = parse_image(text)
    if image is None or image.digest:
        return None
    parts = [part for part in re.split(r"[-_+]", image.tag.lower()) if part and not _PLATFORM.match(part)]
    if any(re.search(r"\d", part) for part in parts) or "sha" in parts:
        return None
    return image.tag or "latest"
