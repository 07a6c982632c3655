"""kvplan's own deployment file: TOML that says what no engine's file says, the host and the workload.

    schema = "kvplan.deployment/1"
    model = "llama3-8b"
    host = "h100-server"
    gpus = 1
    engine = "vllm@0.21"
    strategy = "offload-retrieve"   # or a list: whichever of them works best
    method = "shadowkv"             # whose constants it has, where several are published

    [settings]                      # as the engine spells them
    max_model_len = 32768
    [workload]
    context = "32k"
    users = 8
    [objectives]
    itl_ms = 50

Tables ``[neighbours]`` and ``[host_overrides]`` are as the flags of ``kvplan fit``.
"""

from __future__ import annotations

import json
import re
import sys

from kvplan.catalog.toml_text import too_long
from kvplan.deployments.commands.vllm_flags import SETTINGS
from kvplan.deployments.found import Complaint, FoundDeployment, Place, Setting
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.setting_kinds import KINDS
from kvplan.deployments.toml_lines import key_lines
from kvplan.errors import did_you_mean
from kvplan.units import shorten

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = "kvplan.deployment/1"
_SCHEMA_LINE = re.compile(r"^[ \t]*schema[ \t]*=[ \t]*[\"']kvplan\.deployment/(\d+)[\"']", re.MULTILINE)
_LINE_OF_ERROR = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")

_ENGINE_SETTINGS = {flag.replace("-", "_"): name for flag, name in SETTINGS.items() if name not in ("model", "config")}
_SHORT = {name: name for name in ("tp", "pp", "dp", "ep", "dcp", "weights", "mem_fraction_static", "max_model_len")}
_WORDS = ("cache_type_k", "cache_type_v", "flash_attention", "split_mode", "tensor_split", "use_kv_cache_manager_v2")
"""Settings of engines other than vLLM whose values are words."""
_HOST = ("cpu_cores", "dram_gib", "dram_gb_per_s", "link", "hbm_gib", "numa_nodes", "display_reserve_gib",
         "confidential_computing")  # fmt: skip
_CONTAINER = ("cpu_limit", "cpu_request", "memory_limit", "memory_request", "shm_size", "memlock", "omp_num_threads",
              "instance_type", "gpu_product", "mig_profile", "gpu_memory_limit", "nodes")  # fmt: skip
_WORKLOAD = ("context", "users", "prompt_tokens", "output_tokens", "shared_prefix_tokens", "prefix_hit_fraction",
             "idle_sessions")  # fmt: skip
_NEIGHBOURS = ("link_gb_per_s", "cpu_cores", "dram_gib")
_OTHERS: dict[str, dict[str, str]] = {
    "": {name: name for name in ("schema", "name", "model", "host", "gpus", "engine", "strategy", "method", "task")},
    "workload": {name: name for name in _WORKLOAD},
    "objectives": {name: name for name in ("itl_ms", "ttft_ms", "margin")},
    "neighbours": {"tenants": "tenants", **{name: f"other_{name}" for name in _NEIGHBOURS}},
    "host_overrides": {name: name for name in _HOST},
    "container": {name: name for name in _CONTAINER},
}
_ELSEWHERE = {name for table in _OTHERS.values() for name in table.values()}
TABLES: dict[str, dict[str, str]] = {
    **_OTHERS,
    # Every engine's settings: vLLM's as it spells them, all by kvplan's own names.
    "settings": {
        **_ENGINE_SETTINGS,
        **_SHORT,
        **{name: name for name in _WORDS},
        **{name: name for name in KINDS if name not in _ELSEWHERE},
    },
}
"""Table -> key -> the setting's name in kvplan."""


class KvplanToml:
    """``schema = "kvplan.deployment/1"``."""

    name = "kvplan"
    order = 10
    names = ("*.toml",)
    traces: tuple[bytes, ...] = (b"kvplan.deployment",)

    def recognises(self, source: Source) -> bool:
        return source.suffix in (".toml", "") and _SCHEMA_LINE.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        refused = too_long(source.text)
        if refused is not None:
            return Reading([], [Unreadable(source.at(refused[0]), refused[1])])
        try:
            tables = tomllib.loads(source.text)
        except tomllib.TOMLDecodeError as error:
            line = _LINE_OF_ERROR.search(str(error))
            message = _LINE_OF_ERROR.sub("", str(error)).strip()
            where = source.at(int(line[1]) if line and line[1] else 1)
            return Reading([], [Unreadable(where, f"not valid TOML: {shorten(message, 100)}")])
        except RecursionError:
            return Reading([], [Unreadable(source.at(1), "not valid TOML: nested too deeply")])
        lines = key_lines(source.text)
        if tables.get("schema") != SCHEMA:
            message = f"schema {shorten(repr(tables.get('schema')))} is not one that this kvplan reads"
            return Reading([], [Unreadable(source.at(lines.get(("schema",), 1)), message, f'schema = "{SCHEMA}"')])
        return Reading([_deployment(tables, source, lines)], [])


def _deployment(tables: dict[str, object], source: Source, lines: dict[tuple[str, ...], int]) -> FoundDeployment:
    settings: dict[str, Setting] = {}
    complaints: list[Complaint] = []
    for key, value in tables.items():
        line = lines.get((key,), 1)
        if key in TABLES and key:
            if isinstance(value, dict):
                _table(key, value, source, lines, settings, complaints)
            else:
                complaints.append(Complaint(f"{key} must be a table, [{key}]", source.at(line)))
        elif key in TABLES[""]:
            _setting(key, key, value, source.at(line), settings, complaints)
        else:
            complaints.append(_unknown_key(key, "", source, line))
    name = settings.pop("name", None)
    settings.pop("schema", None)
    return FoundDeployment(
        name=str(name.value) if name else source.stem,
        form=FORM.name,
        place=source.at(lines.get(("schema",), 1)),
        settings=settings,
        complaints=tuple(complaints),
        engine="",
    )


def _table(
    table: str,
    values: dict[str, object],
    source: Source,
    lines: dict[tuple[str, ...], int],
    settings: dict[str, Setting],
    complaints: list[Complaint],
) -> None:
    for key, value in values.items():
        line = lines.get((table, key), lines.get((table,), 1))
        name = TABLES[table].get(key.replace("-", "_"))
        if name is None:
            complaints.append(_unknown_key(key, table, source, line))
        else:
            _setting(name, f"{table}.{key}", value, source.at(line), settings, complaints)


def _setting(
    name: str, key: str, value: object, place: Place, settings: dict[str, Setting], complaints: list[Complaint]
) -> None:
    """Keep a scalar, a list of names for ``strategy``, or a table for ``speculative_config``, which vLLM takes as JSON.

    Anything else can't be a setting.
    """
    if isinstance(value, list) and name == "strategy" and value and all(isinstance(item, str) for item in value):
        settings[name] = Setting(name, tuple(value), place)
    elif isinstance(value, dict) and name == "speculative_config":
        settings[name] = Setting(name, json.dumps(value, default=str), place)
    elif isinstance(value, str | int | float | bool):
        settings[name] = Setting(name, value, place)
    else:
        complaints.append(Complaint(f"{key} must be a single value", place))


def _unknown_key(key: str, table: str, source: Source, line: int) -> Complaint:
    """A key that nothing reads, with what was probably meant: a key of this table, or of another one."""
    inside = f"[{table}]" if table else "the file"
    close = did_you_mean(key, TABLES[table], 1)
    elsewhere = [name for name, keys in TABLES.items() if key.replace("-", "_") in keys and name != table]
    if elsewhere:
        advice = f"it belongs into [{elsewhere[0]}]" if elsewhere[0] else "it belongs to the top of the file"
    else:
        advice = f"did you mean {close[0]}?" if close else "keys: " + ", ".join(sorted(TABLES[table]))
    return Complaint(f"{inside} has no key {shorten(key)!r}", source.at(line), advice)


FORM = KvplanToml()
