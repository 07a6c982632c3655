from pathlib import Path

import pytest

from tests.rules.kit import found, only, pod, serve, toml

HOST = """name = "tested"
gpu = "{gpu}"
gpus = {gpus}
cpu_cores = 48
dram_gib = {dram}
link = "pcie4x16"
source = "test"
"""
LLAMA = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192"


def host(folder: Path, gpu: str, gpus: int, dram: float) -> str:
    """A host file with so many GiB."""
    path = folder / "host.toml"
    path.write_text(HOST.format(gpu=gpu, gpus=gpus, dram=dram), encoding="utf-8")
    return str(path)


LMCACHE = """export LMCACHE_MAX_LOCAL_CPU_SIZE={each}
vllm serve {model} -tp {tp} --kv-transfer-config '{{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}}'
"""

# GiB a rank, ranks, GPU, host GiB, and whether it started: LMCache's size is for each rank
RANKS = {
    "LMCache#949, 4 x L40S": (200, 4, "l40s", 768 * 0.931, False),
    "LMCache#949, what worked": (100, 4, "l40s", 768 * 0.931, True),
    "LMCache#792, NC96ads A100": (300, 4, "a100", 880, False),
    "LMCache#5127, 4 TB asked": (512, 8, "h100", 2048, False),
}


@pytest.mark.parametrize("name", RANKS)
def test_sizes_for_each_rank_multiply(tmp_path: Path, name: str) -> None:
    each, ranks, gpu, dram, started = RANKS[name]
    text = LMCACHE.format(each=each, tp=ranks, model=LLAMA)
    items = found(tmp_path, text, "KV201", host=host(tmp_path, gpu, ranks, dram))
    if started:
        assert items == []
    else:
        assert items[0].level == "fail"
        assert items[0].where.endswith(":1")
        assert items[0].figures["lmcache_gib_per_rank_bytes"]["best"] == each * ranks * 2**30


def test_the_size_of_kv_offloading_is_for_all_ranks(tmp_path: Path) -> None:
    one = only(tmp_path, serve(f"{LLAMA} --kv-offloading-size 600"), "KV201", host=host(tmp_path, "h100", 8, 512))
    all_ranks = serve(f"{LLAMA} -tp 8 --kv-offloading-size 600")
    eight = only(tmp_path, all_ranks, "KV201", host=host(tmp_path, "h100", 8, 512))
    assert one.figures["kv_offloading_size_bytes"] == eight.figures["kv_offloading_size_bytes"]
    assert one.level == eight.level == "fail"


def test_most_of_a_limit_can_not_be_pinned(tmp_path: Path) -> None:
    """AIBrix's samples pin 120 GB in pods of 150G and 150Gi: nothing fails, and little is left for page cache."""
    text = LMCACHE.format(each=120, tp=1, model=LLAMA)
    assert only(tmp_path, text, "KV201", host=host(tmp_path, "h100", 1, 150)).level == "warn"
    assert found(tmp_path, text, "KV201", host=host(tmp_path, "h100", 1, 200)) == []


def test_a_limit_is_enough_to_judge_by(tmp_path: Path) -> None:
    """Nothing names the host: what the container may take is known all the same."""
    args = "--model=meta-llama/Llama-3.1-8B-Instruct\n--kv-offloading-size=60"
    item = only(tmp_path, pod(args, "nvidia.com/gpu: 1, memory: 48Gi"), "KV201", "pod.yaml")
    assert (item.level, item.figures["limit_bytes"]) == ("fail", 48 * 2**30)


def test_cpu_offload_is_for_each_gpu(tmp_path: Path) -> None:
    text = serve("meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-model-len 4096 --cpu-offload-gb 20")
    item = only(tmp_path, text, "KV201", host=host(tmp_path, "h100", 4, 80))
    assert item.figures["cpu_offload_gb_bytes"]["low"] == 4 * 20 * 2**30
    assert "x 4 ranks" in item.message


def test_the_remedy_fits_at_the_pessimistic_end(tmp_path: Path) -> None:
    where = host(tmp_path, "h100", 4, 256)
    item = only(tmp_path, serve(f"{LLAMA} --kv-offloading-size 400"), "KV201", host=where)
    assert str(item.remedy).startswith("--kv-offloading-size ")
    assert found(tmp_path, serve(f"{LLAMA} {item.remedy}"), "KV201", host=where) == []


def test_a_container_limit_is_the_budget(tmp_path: Path) -> None:
    args = f"--model={LLAMA.split(' ')[0]}\n--max-model-len=8192\n--kv-offloading-size=60"
    tight = pod(args, "nvidia.com/gpu: 1, memory: 48Gi")
    item = only(tmp_path, tight, "KV201", "pod.yaml", host="h100-server")
    assert item.level == "fail"
    assert item.figures["limit_bytes"] == 48 * 2**30
    assert found(tmp_path, pod(args), "KV201", "pod.yaml", host="h100-server") == []
    assert found(tmp_path, pod(args, "nvidia.com/gpu: 1, memory: 256Gi"), "KV201", "pod.yaml", host="h100-server") == []


def test_on_unified_memory_an_offload_frees_nothing(tmp_path: Path) -> None:
    assert only(tmp_path, serve(f"{LLAMA} --cpu-offload-gb 10"), "KV201", host="dgx-spark").level == "warn"
    assert found(tmp_path, serve(LLAMA), "KV201", host="dgx-spark") == []


def test_a_strategy_that_moves_kv_is_charged(tmp_path: Path) -> None:
    body = '[workload]\ncontext = "128k"\nusers = 8\n[host_overrides]\ndram_gib = '
    text = toml(body + "128", 'strategy = "offload-retrieve"')
    assert only(tmp_path, text, "KV201", "a.toml").level == "fail"
    assert found(tmp_path, toml(body + "512", 'strategy = "offload-retrieve"'), "KV201", "a.toml") == []


TIER = """schema = "kvplan.deployment/1"
model = "llama3-70b"
host = "h100-server"
gpus = 4
engine = "tensorrt-llm@1.2"
[settings]
tp = 4
max_model_len = 8192
use_kv_cache_manager_v2 = true
{size}
[host_overrides]
dram_gib = 975
"""


def test_a_tier_that_sizes_itself_on_every_rank(tmp_path: Path) -> None:
    """TensorRT-LLM PR 16106: 4 ranks x 161 to 173 of 975 GiB, of which 440 were free: killed in 6 runs of 6."""
    item = only(tmp_path, TIER.format(size=""), "KV201", "a.toml")
    assert item.level == "fail"
    assert item.figures["low_bytes"] == pytest.approx(4 * 161 * 2**30, rel=0.01)
    assert "host_cache_size is not set" in item.message
    others = TIER.format(size="") + "[neighbours]\ndram_gib = 535\n"
    assert only(tmp_path, others, "KV201", "a.toml").level == "fail"
    sized = TIER.format(size="host_cache_bytes_per_rank = 68719476736")
    assert found(tmp_path, sized, "KV201", "a.toml") == []


def test_sizes_for_each_rank_without_a_host(tmp_path: Path) -> None:
    """LMCache#2901: 50 asked, 100 used. Said of what multiplies, where nothing says how much there is."""
    item = only(tmp_path, LMCACHE.format(each=50, tp=2, model=LLAMA), "KV201")
    assert (item.level, item.figures["used_bytes"]) == ("warn", 100 * 2**30)
    assert found(tmp_path, LMCACHE.format(each=50, tp=1, model=LLAMA), "KV201") == []
    assert found(tmp_path, serve(f"{LLAMA} -tp 2 --kv-offloading-size 50"), "KV201") == []
