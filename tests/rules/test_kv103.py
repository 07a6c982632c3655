from pathlib import Path

from kvplan.deployments.found import FoundDeployment, Place, Setting
from kvplan.results.check import check
from kvplan.rules.card_mates import mates_of
from kvplan.rules.kv103_shared_card import check as shared
from kvplan.rules.look_up import look_up
from kvplan.rules.which_host import Around
from tests.rules.kit import found, only, pod, serve


def service(name: str, line: int, utilization: float | None, gpus: str, engine: str = "vllm") -> FoundDeployment:
    place = Place("docker-compose.yml", line)
    settings = {"model": Setting("model", "Qwen/Qwen3-8B", place)}
    if utilization is not None:
        settings["gpu_memory_utilization"] = Setting("gpu_memory_utilization", utilization, place)
    return FoundDeployment(name, "docker-compose", place, settings, engine=engine, notes={"gpu_ids": gpus})


def levels(*services: FoundDeployment) -> list[list[str]]:
    """Of every service, in order."""
    found = []
    for item in services:
        context = look_up(item, Around(mates=mates_of(item, services)))
        found.append([finding.level for finding in shared(context)])
    return found


def test_services_on_one_card_add_up() -> None:
    """vllm#55827, #20305: the second engine finds less free than it wants, and ends."""
    assert levels(service("chat", 3, 0.6, "0"), service("embed", 9, 0.5, "0")) == [[], ["fail"]]
    assert levels(service("chat", 3, 0.6, "0"), service("embed", 9, 0.35, "0")) == [[], []]
    assert levels(service("chat", 3, None, "0,1"), service("embed", 9, 0.2, "1")) == [[], ["fail"]]
    assert levels(service("chat", 3, 0.9, "0"), service("embed", 9, 0.9, "1")) == [[], []]


def test_another_engine_takes_what_it_takes() -> None:
    assert levels(service("chat", 3, 0.6, "0"), service("other", 9, None, "0", "ollama")) == [[], ["warn"]]


def test_less_is_free_than_a_utilization_asks_for(tmp_path: Path) -> None:
    """A desktop's display holds memory that vLLM's fraction counts in."""
    text = serve("Qwen/Qwen3-8B --max-model-len 8192 --gpu-memory-utilization 0.99")
    assert only(tmp_path, text, "KV103", host="rtx4090").level in ("fail", "warn")
    assert found(tmp_path, text.replace("0.99", "0.9"), "KV103", host="rtx4090") == []


def test_scripts_that_name_no_gpu_share_nothing(tmp_path: Path) -> None:
    path = tmp_path / "serve.sh"
    path.write_text(serve("Qwen/Qwen3-8B &") + "vllm serve Qwen/Qwen3-4B\n")
    assert not [item for item in check([str(path)]).findings if item.rule == "KV103"]


def test_turns_on_a_card_do_not_divide_its_memory(tmp_path: Path) -> None:
    text = pod("--model=Qwen/Qwen3-8B", "nvidia.com/gpu.shared: 1")
    assert only(tmp_path, text, "KV103", "pod.yaml").level == "warn"
    assert found(tmp_path, pod("--model=Qwen/Qwen3-8B"), "KV103", "pod.yaml") == []


SERVICES = """services:
  a:
    image: vllm/vllm-openai:v0.19.0
    gpus: all
    command: --model Qwen/Qwen3-8B --max-model-len 8192 --gpu-memory-utilization {first}
  b:
    image: vllm/vllm-openai:v0.19.0
    gpus: all
    command: --model Qwen/Qwen3-4B --max-model-len 8192 --gpu-memory-utilization {second}
"""


def test_services_that_see_every_gpu_take_the_first(tmp_path: Path) -> None:
    """Nothing says that they run at once: a warning."""
    item = only(tmp_path, SERVICES.format(first=0.6, second=0.6), "KV103", "compose.yaml")
    assert (item.level, item.figures["utilization_sum"]) == ("warn", 1.2)
    assert found(tmp_path, SERVICES.format(first=0.6, second=0.3), "KV103", "compose.yaml") == []


def test_commands_of_a_script_on_one_card(tmp_path: Path) -> None:
    line = "CUDA_VISIBLE_DEVICES={} vllm serve Qwen/Qwen3-8B --max-model-len 8192 --gpu-memory-utilization 0.6 &\n"
    assert only(tmp_path, f"#!/bin/bash\n{line.format(0)}{line.format(0)}wait\n", "KV103").level == "fail"
    assert found(tmp_path, f"#!/bin/bash\n{line.format(0)}{line.format(1)}wait\n", "KV103") == []
