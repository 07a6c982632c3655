from pathlib import Path

from tests.rules.kit import checked, found, only, serve, toml

WORK = '[settings]\nmax_model_len = 32768\n[workload]\ncontext = "32k"\nusers = '


def test_more_users_than_the_pool_holds(tmp_path: Path) -> None:
    item = only(tmp_path, toml(f"{WORK}64"), "KV107", "a.toml")
    assert item.level == "fail"
    assert item.where.endswith("a.toml:11")
    # 64 users x 32768 tokens x 128 KiB
    assert item.figures["needed_bytes"]["best"] == 64 * 4 * 2**30
    assert item.figures["users_max"]["low"] <= item.figures["users_max"]["best"] < 64


def test_the_remedy_holds(tmp_path: Path) -> None:
    item = only(tmp_path, toml(f"{WORK}64"), "KV107", "a.toml")
    users = str(item.remedy).partition(" or ")[0].removeprefix("users = ")
    again = checked(tmp_path, toml(f"{WORK}{users}"), "a.toml")
    assert not [one for one in again.findings if one.rule in ("KV102", "KV107") or one.level == "fail"]


def test_eight_users_fit(tmp_path: Path) -> None:
    assert found(tmp_path, toml(f"{WORK}8"), "KV107", "a.toml") == []


def test_a_ceiling_of_sequences_is_no_workload(tmp_path: Path) -> None:
    """max_model_len x max_num_seqs above the pool is normal in production."""
    text = serve("meta-llama/Llama-3.1-8B-Instruct --max-model-len 32768 --max-num-seqs 1024")
    assert found(tmp_path, text, "KV107", host="h100-server") == []


def test_a_ceiling_with_hardly_any_tokens_for_each(tmp_path: Path) -> None:
    """tandemn-system#11: 77,088 tokens on an A10G, 256 at once: 72 ran, 480 preemptions."""
    text = serve("Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --max-num-seqs {}", "0.17.0")
    item = only(tmp_path, text.format(256), "KV107", host="g5.xlarge")
    assert (item.level, item.figures["max_num_seqs"]) == ("warn", 256)
    assert found(tmp_path, text.format(64), "KV107", host="g5.xlarge") == []
    assert found(tmp_path, text.replace(" --max-num-seqs {}", ""), "KV107", host="g5.xlarge") == []


def test_one_user_of_the_longest_request_is_said_once(tmp_path: Path) -> None:
    text = toml('[workload]\ncontext = "128k"\nusers = 1', 'host = "rtx3090"')
    assert [item.rule for item in checked(tmp_path, text, "a.toml").findings if item.level == "fail"] == ["KV102"]


def test_replicas_share_the_users(tmp_path: Path) -> None:
    text = toml(f"{WORK}64").replace("gpus = 1", "gpus = 8").replace("[settings]", "[settings]\ntp = 1\ndp = 8")
    assert found(tmp_path, text, "KV107", "a.toml") == []


def test_kv_in_host_memory_takes_no_room_in_the_pool(tmp_path: Path) -> None:
    assert only(tmp_path, toml(f"{WORK}24"), "KV107", "a.toml").level == "fail"
    assert found(tmp_path, toml(f"{WORK}24", 'strategy = "offload-retrieve"'), "KV107", "a.toml") == []
