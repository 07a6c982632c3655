"""The lines of the link as ``fit`` shows them."""

from __future__ import annotations

from kvplan.assess import assess
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import Budget


def link(strategy: str, **words: object) -> Budget:
    given = {"model": "llama3-8b", "host": "h100-server", "gpus": 1, "context": "128k", "users": 8, **words}
    return assess(resolve(Words(**given)), (strategy,)).strategy(strategy).budgets["link"]  # type: ignore[arg-type]


def formulas(budget: Budget) -> dict[str, str]:
    return {part.name: part.formula for part in budget.parts}


def test_the_rate_of_the_copies_is_shown() -> None:
    words = {"context": "16k", "output_tokens": 256, "prefix_hit_fraction": 0.5}
    new, old = (formulas(link("offload-reuse", engine=f"vllm@{version}", **words)) for version in ("0.21", "0.11"))
    assert "2 MiB copies at 48.4 of 55.4 GB/s" in new["requests"]
    assert "32 KiB copies at 8.14 of 55.4 GB/s" in old["requests"]
    assert "the quieter direction counts 0.09 of its bytes" in new["write-back"]


def test_the_parts_make_up_what_is_used() -> None:
    for strategy in ("offload-stream", "offload-retrieve", "offload-cpu-attention", "offload-reuse", "weight-offload"):
        budget = link(strategy, output_tokens=512, prefix_hit_fraction=0.5, other_link_gb_per_s=3.0, tenants=2)
        assert abs(sum(part.value for part in budget.parts) / budget.used.best - 1.0) < 1e-9, strategy
        assert formulas(budget)["others"] == "--other-link-gb-per-s"


def test_an_old_layout_reloads_slower_and_so_the_first_token_is_later() -> None:
    def ttft(version: str) -> float:
        words = Words(
            model="llama3-8b", host="h100-server", gpus=1, context=100_000, prefix_hit_fraction=1.0,
            engine=f"vllm@{version}",
        )  # fmt: skip
        found = assess(resolve(words), ("offload-reuse",)).strategy("offload-reuse").ttft_s
        assert found is not None
        return found.best

    assert 0.28 < ttft("0.12") < 0.33, "published: 312 ms"
    assert 3.5 < ttft("0.11") / ttft("0.12") < 6.0, "published: up to 4 times"


def test_c2c_gives_hardly_more_both_ways_than_one_way() -> None:
    part = formulas(link("offload-retrieve", host="gh200"))["write-back"]
    assert "the quieter direction counts 1.00 of its bytes" in part


def test_gpus_behind_one_switch_share_its_rate() -> None:
    alone = link("offload-retrieve", host="p4de.24xlarge", gpus=1, tp=1)
    four = link("offload-retrieve", host="p4de.24xlarge", gpus=4, dp=4, tp=1)
    assert alone.limit is not None and four.limit is not None
    assert four.limit < alone.limit
