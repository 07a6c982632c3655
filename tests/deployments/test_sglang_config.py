"""YAML for SGLang's ``--config``."""

from __future__ import annotations

import tests.deployments.kit as kit

TEXT = """model-path: Qwen/Qwen3-32B
tp: 2
context_length: 65536
mem-fraction-static: 0.85
disable-cuda-graph: false
enable-hierarchical-cache: true
hicache-size: 64
"""


def test_dashes_underscores_and_beginnings() -> None:
    item = kit.one(TEXT, "worker.yaml")
    assert (item.form, item.engine) == ("sglang-config", "sglang")
    assert kit.values(item) == {
        "model": "Qwen/Qwen3-32B", "tp": "2", "max_model_len": "65536", "mem_fraction_static": "0.85",
        "enable_hierarchical_cache": True, "hicache_gb_per_rank": "64",
    }  # fmt: skip
    assert kit.lines(item)["mem_fraction_static"] == 4


def test_files_of_other_programs() -> None:
    for text in (
        "model: m\nmax-model-len: 8192\n", "kind: x\nmodel-path: y\n", "tp_size: 1\npp_size: 1\nbackend: pytorch\n",
        "model_path: y\nlearning_rate: 1\nepochs: 3\noptimizer: adam\nbatch: 4\n",
    ):  # fmt: skip
        found, _ = kit.read(text, "a.yaml")
        assert all(item.engine != "sglang" for item in found)
