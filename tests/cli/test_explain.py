"""``kvplan explain``: strategies, combinations, figures, rules, models and hosts, and what is close to a slip."""

from __future__ import annotations

import re

import pytest

from kvplan.results.figures import all_figures, find_figure
from kvplan.rules import all_rules
from kvplan.strategies import all_strategies
from tests.cli.kit import answer, kvplan
from tests.golden_kit import check_golden

PLAIN = [name for name in all_strategies() if "+" not in name]
BUDGETS = ("hbm", "dram_capacity", "dram_bandwidth", "link", "cpu_cores")
OTHERS = ("itl", "ttft", "kernel", "context", "topology", "unified")


@pytest.mark.parametrize("name", PLAIN)
def test_every_strategy_has_formula_evidence_and_accuracy(name: str) -> None:
    shown = answer("explain", name)
    assert (shown["schema"], shown["kind"], shown["name"]) == ("kvplan.explain/1", "strategy", name)
    assert shown["formula"] and shown["evidence"] and shown["notes"]
    assert shown["accuracy"]["source"]
    assert all(item["source"] for item in shown["inputs"])
    assert all(item["value"]["low"] <= item["value"]["best"] <= item["value"]["high"] for item in shown["inputs"])


def test_a_combination_says_what_it_is_made_of() -> None:
    shown = answer("explain", "kv-fp8+offload-retrieve")
    assert (shown["kind"], shown["see"]) == ("combination", ["kv-fp8", "offload-retrieve"])
    parts = [answer("explain", name) for name in shown["see"]]
    for end in ("low", "high"):
        assert shown["accuracy"]["loss_points"][end] == sum(part["accuracy"]["loss_points"][end] for part in parts)


def test_constants_of_a_paper_are_shown_with_their_ends() -> None:
    inputs = {item["name"]: item for item in answer("explain", "offload-retrieve")["inputs"]}
    hit = inputs["hit fraction of the HBM cache"]
    assert 0.79 <= hit["value"]["low"] <= hit["value"]["best"] <= hit["value"]["high"] <= 0.94  # as its paper has it
    assert "RetroInfer" in hit["source"]


@pytest.mark.parametrize(("name", "width"), [("kv-fp8", 1.0), ("kv-q8_0", 1.0625), ("kv-nvfp4", 0.5625)])
def test_a_format_says_how_wide_it_is(name: str, width: float) -> None:
    assert answer("explain", name)["inputs"][0]["value"]["best"] == width


@pytest.mark.parametrize("name", [*BUDGETS, *OTHERS, "users_max"])
def test_budgets_and_limits_are_explained(name: str) -> None:
    shown = answer("explain", name)
    assert len(shown["text"]) > 80
    assert shown["kind"] == ("strategy" if name == "hbm" else "figure")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("ITL", "itl"),
        ("--itl-ms", "itl"),
        ("itl_s", "itl"),
        ("kv-pool-bytes", "kv_pool_bytes"),
        ("dram", "dram_capacity"),
    ],
)
def test_figures_have_other_names(typed: str, name: str) -> None:
    figure = find_figure(typed)
    assert figure is not None and figure.name == name


def test_every_figure_that_a_fit_prints_or_a_figure_points_to_is_explained() -> None:
    fit = answer("fit", "--model", "llama3-8b", "--host", "rtx4090", "--context", "8k")
    printed = {"users_max", "context_tokens_max", "itl_s", "ttft_s", "decode_tokens_per_s", "kv_bytes_per_token"}
    assert printed <= set(fit["strategies"][0])
    memory = set(fit["gpu_memory"]) - {"total_bytes", "budget_bytes"}
    assert [name for name in sorted(printed | memory) if find_figure(name) is None] == []
    known = {*all_figures(), *all_strategies()}
    assert [name for figure in all_figures().values() for name in figure.see if name not in known] == []
    assert {"fits", "tight", "unlikely", "no", "na", "unknown"} <= set(all_figures())


def test_every_rule_is_explained() -> None:
    for rule_id, rule in all_rules().items():
        shown = answer("explain", rule_id.lower())
        assert (shown["kind"], shown["name"], shown["title"]) == ("rule", rule_id, rule.TITLE)
        assert shown["text"]


@pytest.mark.parametrize(
    ("name", "command"), [("llama3-8b", "model"), ("H100", "host"), ("meta-llama/Llama-3.1-8B-Instruct", "model")]
)
def test_models_and_hosts_are_shown(name: str, command: str) -> None:
    assert answer("explain", name) == answer(command, "show", name)
    assert kvplan("explain", name).out == kvplan(command, "show", name).out


def test_the_list_has_everything_and_everything_can_be_explained() -> None:
    topics = answer("explain", "--list")["topics"]
    kinds = {topic["kind"] for topic in topics}
    assert {"strategy", "combination", "figure", "model", "host"} <= kinds
    assert len(topics) > 200
    for topic in topics[::7]:
        assert kvplan("explain", topic["name"]).code == 0
    for name in (*PLAIN, *BUDGETS):
        assert re.search(rf"^  {re.escape(name)} ", kvplan("explain", "--list").out, re.MULTILINE)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("offload-retreive", "offload-retrieve"), ("kv-fp-8", "kv-fp8"), ("lnik", "link"), ("lama3-8b", "llama3-8b")],
)
def test_slips(typed: str, meant: str) -> None:
    done = kvplan("explain", typed)
    assert (done.code, done.out) == (2, "")
    assert re.search(rf"^help: did you mean {re.escape(meant)}\b", done.err, re.MULTILINE)


def test_nothing_named() -> None:
    done = kvplan("explain")
    assert done.code == 2
    assert "kvplan explain --list" in done.err


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_the_screens(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("offload-retrieve", "kv-fp8", "link", "--list"):
        shown = kvplan("explain", name).out
        assert max(map(len, shown.splitlines())) <= columns
        if columns == 80:
            check_golden(f"explain-{name.strip('-')}.txt", shown)


def test_a_strategy_for_a_model_and_a_host_says_where_reloading_pays() -> None:
    plain = answer("explain", "offload-reuse")
    shown = answer("explain", "offload-reuse", "--model", "llama3-70b", "--host", "h100-server")
    assert (plain["deployment"], plain["break_even"]) == (None, None)
    assert shown["deployment"].startswith("Llama-3.1-70B-Instruct on h100-server (8 x H100")
    judged = answer("fit", "--model", "llama3-70b", "--host", "h100-server", "--strategy", "offload-reuse")
    assert shown["break_even"] == judged["strategies"][0]["break_even"] != None  # noqa: E711
    assert answer("explain", "offload-reuse", "--host", "rtx4090")["deployment"].startswith("Llama-3.1-8B-Instruct")
    assert "one pool of memory" in answer("explain", "offload-reuse", "--host", "m3-ultra")["deployment"]
    assert answer("explain", "hbm", "--host", "rtx4090")["break_even"] is None


def test_only_strategies_are_explained_for_a_host() -> None:
    for arguments in (("itl", "--host", "rtx4090"), ("offload-reuse", "--model", "llama3-8b"), ("hbm", "--gpus", "2")):
        done = kvplan("explain", *arguments)
        assert (done.code, done.out) == (2, "")
    assert kvplan("explain", "offload-reuse", "--host", "no-such-host").code == 2


@pytest.mark.parametrize("name", ["kv-fp8", "offload-retrieve", "magicpig", "kv-int8", "kv-fp8+offload-retrieve"])
def test_losses_by_class_of_task_are_listed(name: str) -> None:
    rows = answer("explain", name)["accuracy_by_task"]
    assert [row["task"] for row in rows] == ["retrieval", "reasoning", "chat"]
    assert all(row["on"] and row["source"] for row in rows)
    assert answer("explain", "offload-reuse")["accuracy_by_task"] == []
