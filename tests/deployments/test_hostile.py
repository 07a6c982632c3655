"""Files that are made to hurt: a finding or nothing, quickly, and never a traceback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kvplan.results.check import check

SCHEMA = 'schema = "kvplan.deployment/1"\n'
FILES = {
    "deep.toml": SCHEMA + "a = " + "[" * 90_000,
    "deep.yaml": "apiVersion: v1\nkind: Pod\n# vllm\ncontainers: " + "[" * 100_000,
    "quotes.sh": "#!/bin/bash\n" + 'A="\n' * 20_000 + 'vllm serve x --max-model-len "',
    "defaults.sh": "#!/bin/bash\nvllm serve " + "${A:-" * 5000 + "\n",
    "circle.sh": "#!/bin/bash\nA=$B\nB=$A\nvllm serve $A --max-model-len ${B:-$A}\n",
    "many.sh": "#!/bin/bash\n" + "vllm serve $X\n" * 5000,
    "blanks.sh": "#!/bin/bash\nvllm serve " + "a/" * 100_000 + "\nx=" + " " * 300_000 + "\n",
    "substitutions.sh": "#!/bin/bash\nvllm serve " + "$(" * 10_000 + "\n",
    "json.sh": "#!/bin/bash\nvllm serve m --kv-transfer-config '" + "[" * 5000 + "'\n",
    "control.sh": "#!/bin/bash\nvllm serve $'\\x1b[31m' --max-model-len \x1b[31m\n",
    "numbers.toml": SCHEMA + 'model = "llama3-8b"\nhost = "h100-server"\n[settings]\nmax_model_len = "9e999"\ntp = 0\n',
    "large.toml": SCHEMA + f'model = "llama3-8b"\nhost = "h100-server"\n[workload]\nusers = {2**60}\n',
    "empty.yaml": "apiVersion: v1\nkind: Pod\n# vllm\ncontainers:\n",
    "odd.yaml": "apiVersion: [1]\nkind: {a: 1}\n"
    "spec: {containers: [vllm, 1, [x], {image: [1], args: {a: 1}, env: x}]}\n",
    "odd-env.yaml": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v0.9.1\n"
    "    args: [--model, $(A)]\n    env: [{name: A, value: $(A)}, 7, {value: 3}]\n",
}


@pytest.mark.parametrize("name", FILES)
def test_one_line_and_soon(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    start = time.perf_counter()
    result = check([str(path)], host="h100-server")
    assert time.perf_counter() - start < 10.0
    assert result.exit_code in (0, 1, 3)
    assert result.findings or not result.deployments
    for item in result.findings:
        assert "\n" not in item.message
        assert item.message.isprintable()
        assert len(item.message) < 400


def test_a_value_cannot_move_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text("#!/bin/bash\nvllm serve m --max-model-len \x1b[31mx\n", encoding="utf-8")
    from kvplan.render.check_table import render

    assert "\x1b" not in render(check([str(path)], host="h100-server"))
