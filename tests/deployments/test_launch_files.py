"""Files that a command names beside the file that it stands in."""

from __future__ import annotations

from pathlib import Path

from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.sources import read_deployments


def _started(folder: Path, script: str, **files: str) -> FoundDeployment:
    (folder / "run.sh").write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text, encoding="utf-8")
    found, faults = read_deployments([str(folder / "run.sh")])
    assert not faults
    return found[0][0]


def test_the_command_line_goes_before_vllms_file(tmp_path: Path) -> None:
    """vLLM inserts the file's arguments before those of the command line, and the last of equal flags holds."""
    item = _started(
        tmp_path,
        "vllm serve --config serve.yaml --max-model-len 8192",
        serve_yaml="model: org/m\nmax-model-len: 4096\ntensor-parallel-size: 2\nan-entry-of-our-own: 1\n",
    )
    assert {name: item.value(name) for name in ("model", "max_model_len", "tp")} == {
        "model": "org/m", "max_model_len": "8192", "tp": "2",
    }  # fmt: skip
    assert item.settings["tp"].place.path.endswith("serve.yaml")
    assert item.settings["tp"].place.line == 3
    assert item.unresolved == ()
    assert [doubt.level for doubt in item.complaints] == ["info"]


def test_a_file_that_was_joined_is_no_deployment_of_its_own(tmp_path: Path) -> None:
    _started(tmp_path, "vllm serve --config serve.yaml", serve_yaml="model: org/m\nmax-model-len: 4096\n")
    found, _ = read_deployments([str(tmp_path)])
    assert [item.form for item, _ in found] == ["shell"]
    assert found[0][0].files == (str(tmp_path / "serve.yaml"),)


def test_tensorrt_llms_file_goes_before_the_command_line(tmp_path: Path) -> None:
    """--extra_llm_api_options: a file that overwrites the parameters of trtllm-serve."""
    item = _started(
        tmp_path,
        "trtllm-serve org/m --max_batch_size 8 --extra_llm_api_options x.yml",
        x_yml="max_batch_size: 64\nkv_cache_config:\n  free_gpu_memory_fraction: 0.7\n",
    )
    assert (item.value("max_num_seqs"), item.value("free_gpu_memory_fraction")) == ("64", 0.7)


def test_sglangs_file(tmp_path: Path) -> None:
    script = "python3 -m sglang.launch_server --config s.yaml --tp 4"
    item = _started(
        tmp_path, script, s_yaml="model-path: org/m\ntp: 2\nmem-fraction-static: 0.8\ndisable-radix-cache: false\n"
    )
    assert (item.value("model"), item.value("tp"), item.value("mem_fraction_static")) == ("org/m", "4", "0.8")
    assert item.value("prefix_caching") is None


def test_a_file_that_is_not_there_stays_open(tmp_path: Path) -> None:
    item = _started(tmp_path, "vllm serve org/m --config /etc/other.yaml")
    assert [open_.name for open_ in item.unresolved] == ["config"]


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    item = _started(tmp_path, "vllm serve org/m --config bad.yaml", bad_yaml="a: [1\n")
    assert "not valid YAML" in item.unresolved[0].reason


def test_lmcaches_file_for_each_rank(tmp_path: Path) -> None:
    """LMCache reads its file first and the variables after it (since 0.3.15)."""
    connector = '--kv-transfer-config \'{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}\''
    script = f"export LMCACHE_CONFIG_FILE=lm.yaml\nvllm serve org/m {connector}"
    item = _started(tmp_path, script, lm_yaml="chunk_size: 256\nlocal_cpu: true\nmax_local_cpu_size: 80\n")
    assert item.value("lmcache_gib_per_rank") == "80"
    assert item.settings["lmcache_gib_per_rank"].place.line == 3
    both = _started(tmp_path, f"export LMCACHE_MAX_LOCAL_CPU_SIZE=20\n{script}", lm_yaml="max_local_cpu_size: 80\n")
    assert both.value("lmcache_gib_per_rank") == "20"
