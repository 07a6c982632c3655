"""LMCache by itself: its server, and its file."""

from __future__ import annotations

import pytest

import tests.deployments.kit as kit
from tests.deployments.command_kit import started


@pytest.mark.parametrize("text", [
    "lmcache server --l1-size-gb 60 --eviction-policy LRU --host 0.0.0.0",
    "python3 -m lmcache.v1.multiprocess.server --cpu-buffer-size 60 --max-workers 4",
])  # fmt: skip
def test_a_server_holds_its_memory_once(text: str) -> None:
    """GiB of the whole server: l1_size_gb * (1 << 30) in LMCache's distributed/config.py."""
    found = started(text)
    assert found.value("offload_bytes") == 60 * 2**30
    assert (found.engine, found.notes["engine"]) == ("", "lmcache")
    assert [item.name for item in found.unresolved] == ["model"]


def test_a_file_by_itself() -> None:
    item = kit.one(
        "chunk_size: 256\nlocal_cpu: true\nmax_local_cpu_size: 80.5\nmax_local_disk_size: 200\n", "lmcache.yaml"
    )
    assert item.form == "lmcache-config"
    assert kit.values(item) == {"lmcache_gib_per_rank": "80.5", "lmcache_disk_gib_per_rank": "200"}
    assert kit.open_names(item) == ["model", "tp"]


def test_a_file_that_sets_no_amount() -> None:
    """LMCache makes its host pool with ``local_cpu: false`` as well: 5 GiB unless told."""
    item = kit.one("local_cpu: false\nlocal_disk: /lmcache\nmax_local_disk_size: 10\n", "lmcache.yaml")
    assert kit.values(item)["lmcache_gib_per_rank"] == 5.0


def test_an_amount_that_is_none() -> None:
    item = kit.one("local_cpu: true\nmax_local_cpu_size: ${SIZE}\n", "lmcache.yaml")
    assert kit.open_names(item) == ["model", "lmcache_gib_per_rank", "tp"]
