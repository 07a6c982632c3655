"""Image references as text."""

from __future__ import annotations

import pytest

from kvplan.deployments.image_tags import Image, floating_tag, parse_image, release_in


@pytest.mark.parametrize(("text", "image"), [
    ("vllm/vllm-openai:v0.9.1", Image("vllm/vllm-openai", "v0.9.1", "")),
    ("localhost:5000/a/b", Image("localhost:5000/a/b", "", "")),
    ("a/b:c@sha256:0af", Image("a/b", "c", "sha256:0af")), ("a b", None), ("a:${TAG}", None),
])  # fmt: skip
def test_parts(text: str, image: Image | None) -> None:
    assert parse_image(text) == image


@pytest.mark.parametrize(("tag", "release"), [
    ("v0.11.0-x86_64", "0.11.0"), ("0.23.1-cu130", "0.23.1"), ("v0.8.5.post1", "0.8.5.post1"),
    ("1.3.0rc24", "1.3.0rc24"),
    ("latest", None), ("nightly-0a1b2c3", None), ("sha-0.1", None), ("20250812", None), ("b10236", None),
])  # fmt: skip
def test_release(tag: str, release: str | None) -> None:
    assert release_in(tag) == release


@pytest.mark.parametrize(("text", "floats"), [
    ("a/b", "latest"), ("a/b:latest", "latest"), ("a/b:latest-cu130", "latest-cu130"), ("a/b:nightly", "nightly"),
    ("a/b:main", "main"), ("a/b:server-cuda", "server-cuda"), ("a/b:latest-x86_64", "latest-x86_64"),
    ("a/b:rocm", "rocm"), ("a/b:dev-cu13", "dev-cu13"), ("a/b:server-cuda-b10236", None), ("a/b:v0.9.1", None),
    ("a/b:26.02-py3", None), ("a/b:nightly-0a1b2c3d", None), ("a/b:sha-abcdef", None), ("a/b:latest@sha256:0af", None),
    ("a/b:${TAG}", None),
])  # fmt: skip
def test_tags_that_name_another_version_tomorrow(text: str, floats: str | None) -> None:
    assert floating_tag(text) == floats
