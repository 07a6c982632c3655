"""CSV: one row for a strategy on a host."""

from __future__ import annotations

import csv
import io

from kvplan.render.fit_csv import render
from tests.golden_kit import check_golden
from tests.render.answers import long_context, three_hosts


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_golden() -> None:
    check_golden("fit-long-context.csv", render(long_context()))


def test_a_row_for_each_strategy_of_each_host() -> None:
    answer = three_hosts()
    found = rows(render(answer))
    assert len(found) == sum(len(fit.assessment.strategies) for fit in answer.fits)
    assert {row["host"] for row in found} == {"h100-server", "rtx4090", "m3-ultra"}
    assert all(None not in row and None not in row.values() for row in found)


def test_bytes_and_seconds() -> None:
    hbm = rows(render(long_context()))[0]
    assert (hbm["strategy"], hbm["outcome"], hbm["bound_by"], hbm["best"]) == ("hbm", "no", "hbm", "no")
    assert hbm["kv_bytes_per_token"] == "131072"
    assert int(hbm["hbm_used_bytes_best"]) > int(hbm["hbm_limit_bytes"]) > 70 * 2**30
    retrieve = next(row for row in rows(render(long_context())) if row["strategy"] == "offload-retrieve")
    assert 0.005 < float(retrieve["itl_s_best"]) < 0.05
    assert retrieve["best"] == "yes"


def test_the_unknown_is_empty() -> None:
    nvfp4 = next(row for row in rows(render(long_context())) if row["strategy"] == "kv-nvfp4")
    assert nvfp4["outcome"] == "no"
    assert nvfp4["itl_s_best"] == nvfp4["hbm_used_bytes_best"] == nvfp4["users_max_best"] == ""
    assert nvfp4["reason"]
