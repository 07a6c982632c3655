from pathlib import Path

from tests.rules.kit import found, only, serve

LLAMA_70B = "meta-llama/Llama-3.1-70B-Instruct --max-model-len 4096"


def test_70b_in_16_bits_does_not_fit_on_one_80_gb_card(tmp_path: Path) -> None:
    item = only(tmp_path, serve(LLAMA_70B), "KV101", host="h100-server")
    assert item.level == "fail"
    assert item.where.endswith("serve.sh:3")
    # 70,553,706,496 parameters x 2 bytes, as the checkpoint's own index says, and vLLM's table of rotary positions
    assert item.figures["weight_bytes"]["best"] == 141_107_412_992 + 131_072 * 128 * 2
    assert item.remedy == "--tensor-parallel-size 4, on 4 GPUs" or item.remedy == "--tensor-parallel-size 2, on 2 GPUs"


def test_the_remedy_holds(tmp_path: Path) -> None:
    item = only(tmp_path, serve(LLAMA_70B), "KV101", host="h100-server")
    flag = str(item.remedy).partition(",")[0]
    assert found(tmp_path, serve(f"{LLAMA_70B} {flag}"), "KV101", host="h100-server") == []
    assert found(tmp_path, serve(f"{LLAMA_70B} {flag}"), "KV102", host="h100-server") == []


def test_where_weights_do_not_fit_nothing_is_said_about_kv(tmp_path: Path) -> None:
    for rule in ("KV102", "KV107", "KV104"):
        assert found(tmp_path, serve(LLAMA_70B), rule, host="h100-server") == []


def test_weights_in_host_memory_make_room(tmp_path: Path) -> None:
    flags = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 2048"
    assert only(tmp_path, serve(flags), "KV101", host="g4dn").level == "fail"  # 15 GiB of weights, 14.6 GiB card
    assert found(tmp_path, serve(f"{flags} --cpu-offload-gb 8"), "KV101", host="g4dn") == []


def test_a_pool_of_fixed_size_counts_against_the_whole_card(tmp_path: Path) -> None:
    flags = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096 --kv-cache-memory-bytes"
    assert found(tmp_path, serve(f"{flags} 55G", "0.20.0"), "KV101", host="h100-server") == []
    assert only(tmp_path, serve(f"{flags} 70G", "0.20.0"), "KV101", host="h100-server").level == "fail"
