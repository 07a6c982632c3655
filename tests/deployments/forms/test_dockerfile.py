"""Dockerfiles of our own, from the Dockerfile reference."""

from __future__ import annotations

import pytest

import tests.deployments.kit as kit


def test_a_recipe() -> None:
    text = """# syntax=docker/dockerfile:1
ARG VERSION=0.9.1
FROM vllm/vllm-openai:v${VERSION} AS base
ENV MODEL=m \\
    # the longest request
    LEN=4096
FROM base
ENTRYPOINT []
CMD vllm serve $MODEL --max-model-len $LEN \\
    -tp 2
"""
    item = kit.one(text, "Dockerfile")
    assert kit.values(item) == {"engine": "vllm@0.9.1", "model": "m", "max_model_len": "4096", "tp": "2"}
    assert kit.lines(item) == {"engine": 3, "model": 4, "max_model_len": 6, "tp": 10}


@pytest.mark.parametrize("start", [
    'CMD ["--model", "m", "-tp", "2"]', 'ENTRYPOINT ["vllm", "serve"]\nCMD ["m", "-tp", "2"]',
    'ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server", \\\n  "--model", "m", "-tp", "2"]',
    'CMD ["bash", "-c", "vllm serve $M -tp 2"]', "ENTRYPOINT vllm serve ${M} -tp 2", "CMD exec vllm serve m -tp 2",
])  # fmt: skip
def test_ways_to_start(start: str) -> None:
    item = kit.one(f"FROM vllm/vllm-openai:v0.9.1\nENV M=m\n{start}\n", "vllm.Dockerfile")
    assert (item.value("model"), item.value("tp")) == ("m", "2")


def test_a_list_is_started_without_a_shell() -> None:
    item = kit.one('FROM x\nENV M=m\nCMD ["vllm", "serve", "$M", "-tp", "2"]\n', "Dockerfile")
    assert kit.open_names(item) == ["model"]
    assert "without a shell" in item.unresolved[0].reason


def test_a_base_alone_starts_nothing_that_is_known() -> None:
    assert kit.read("FROM vllm/vllm-openai:v0.9.1\nENV A=1\n", "Dockerfile") == ([], [])
    assert kit.read('FROM python\nCMD ["python", "app.py"]\n', "Dockerfile") == ([], [])


def test_a_script_that_the_dockerfile_writes() -> None:
    text = """FROM vllm/vllm-openai:v0.9.1
ENV LEN=4096
COPY <<'EOF' /start.sh
#!/bin/bash
exec vllm serve m --max-model-len ${LEN} "$@"
EOF
RUN chmod +x /start.sh
ENTRYPOINT ["/start.sh", "-tp", "2"]
"""
    item = kit.one(text, "Dockerfile")
    assert kit.values(item) == {"engine": "vllm@0.9.1", "model": "m", "max_model_len": "4096", "tp": "2"}
    assert kit.lines(item) == {"engine": 1, "model": 5, "max_model_len": 2, "tp": 8}
