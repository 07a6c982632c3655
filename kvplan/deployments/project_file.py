"""A configuration file -> a ProjectConfig, or one clear line with its place."""

from __future__ import annotations

import datetime
import os
import re
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from kvplan.catalog.files import read_whole
from kvplan.catalog.toml_text import too_long
from kvplan.deployments.forms.kvplan_toml import TABLES
from kvplan.deployments.found import Place, Setting
from kvplan.deployments.ignores import Ignore
from kvplan.deployments.project_config import LEVELS, Label, PathRule, ProjectConfig
from kvplan.deployments.toml_lines import key_lines
from kvplan.deployments.upward import nearest
from kvplan.errors import InputError, did_you_mean
from kvplan.units import shorten

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAMES = (".kvplan.toml", "pyproject.toml")
_SECTION = re.compile(r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*kvplan[ \t]*[\].]", re.MULTILINE)
_LINE_OF_ERROR = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")
_TOP = ("host", "margin", "fail_on", "baseline", "catalog", "paths", "labels", "models", "severities", "ignores")
_PATH_TABLES = tuple(name for name in TABLES if name)
_PATH_KEYS = {"host": "text", "engine": "text", "model": "text", "gpus": "number", "gpu_fraction": "number"}
_FAIL_ON = ("fail", "warn", "unknown")


def config_place(path: str) -> str | None:
    """The nearest configuration file from a path upward: to its repository's root, or to the current folder."""
    return nearest(
        path,
        NAMES,
        lambda file: os.path.basename(file) == NAMES[0] or bool(_SECTION.search(_text(file))),
        regular=NAMES[:1],
    )


def config_at(path: str) -> ProjectConfig:
    """The configuration in a file."""
    return _Reader(path).config()


def _text(path: str) -> str:
    return read_whole(path).decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


class _Reader:
    """One file with the lines of its keys."""

    def __init__(self, path: str) -> None:
        self.path = shorten(path, 200)
        self.folder = os.path.dirname(path)
        text = _text(path)
        refused = too_long(text)
        if refused is not None:
            raise InputError(refused[1], where=f"{self.path}:{refused[0]}")
        try:
            tables: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = _LINE_OF_ERROR.search(str(error))
            where = f"{self.path}:{line[1] if line and line[1] else 1}"
            message = shorten(_LINE_OF_ERROR.sub("", str(error)).strip(), 100)
            raise InputError(f"not valid TOML: {message}", where=where) from None
        except RecursionError:
            raise InputError("not valid TOML: nested too deeply", where=f"{self.path}:1") from None
        self.lines = key_lines(text)
        self.prefix: tuple[str, ...] = ()
        if os.path.basename(path) != NAMES[0]:
            self.prefix = ("tool", "kvplan")
            tables = tables["tool"]["kvplan"]
        self.tables = tables if isinstance(tables, dict) else self.wrong("must be a table")

    def config(self) -> ProjectConfig:
        self.known(self.tables, _TOP)
        settings = {}
        for name, kind in (("host", "text"), ("margin", "number")):
            if name in self.tables:
                value = self.scalar(kind, self.tables[name], name)
                settings[name] = Setting(name, self.beside(value) if name == "host" else value, self.place(name))
        margin = settings["margin"].value if "margin" in settings else 0.0
        if isinstance(margin, int | float) and not 0.0 <= margin < 1.0:  # nan is not in it either
            self.wrong(f"must be a fraction from 0 to below 1 (it is {margin})", "margin")
        listed = self.tables.get("catalog", [])
        catalogs = listed if isinstance(listed, list) else [listed]
        return ProjectConfig(
            path=self.path,
            folder=self.folder,
            settings=settings,
            fail_on=self.one_of("fail_on", _FAIL_ON) if "fail_on" in self.tables else None,
            baseline=self.file("baseline") if "baseline" in self.tables else None,
            catalog=tuple(self.joined(self.scalar("text", item, "catalog")) for item in catalogs),
            rules=tuple(self.rule(pattern, table) for pattern, table in self.table("paths").items()),
            labels={text.strip().lower(): self.label(text, value) for text, value in self.table("labels").items()},
            models={
                name: str(self.scalar("text", value, "models", name)) for name, value in self.table("models").items()
            },
            severities=self.severities(),
            ignores=tuple(self.ignores()),
        )

    def rule(self, pattern: str, table: object) -> PathRule:
        keys = ("paths", pattern)
        if not isinstance(table, dict):
            self.wrong("must be a table", *keys)
        self.known(table, (*_PATH_KEYS, *_PATH_TABLES), *keys)
        settings: dict[str, Setting] = {}
        for name, value in table.items():
            if name in _PATH_TABLES:
                settings |= self.inner(name, value, *keys)
            else:
                given = self.scalar(_PATH_KEYS[name], value, *keys, name)
                given = self.beside(given) if name in ("host", "model") else given
                settings[name] = Setting(name, given, self.place(*keys, name))
        return PathRule(pattern, settings)

    def inner(self, name: str, table: object, *keys: str) -> dict[str, Setting]:
        """A table that kvplan's own deployment file has too."""
        if not isinstance(table, dict):
            self.wrong("must be a table", *keys, name)
        self.known(table, tuple(TABLES[name]), *keys, name)
        return {
            TABLES[name][key]: Setting(
                TABLES[name][key], self.scalar("any", value, *keys, name, key), self.place(*keys, name, key)
            )
            for key, value in table.items()
        }

    def label(self, text: str, value: object) -> Label:
        if isinstance(value, str):
            return Label(str(self.beside(value)), None, None, self.place("labels", text))
        if not isinstance(value, dict):
            self.wrong('must be a host, or a table such as { gpu = "NVIDIA-L4", gpus = 2 }', "labels", text)
        self.known(value, ("host", "gpu", "gpus"), "labels", text)
        if not {"host", "gpu"} & set(value):
            self.wrong("must name a host or a gpu", "labels", text)
        gpus = value.get("gpus")
        if gpus is not None and (isinstance(gpus, bool) or not isinstance(gpus, int) or not 1 <= gpus <= 1024):
            self.wrong(f"gpus must be a whole number from 1 to 1024 (it is {shorten(repr(gpus))})", "labels", text)
        host, gpu = (
            self.scalar("text", value[key], "labels", text) if key in value else None for key in ("host", "gpu")
        )
        place = self.place("labels", text)
        return Label(None if host is None else str(self.beside(host)), None if gpu is None else str(gpu), gpus, place)

    def severities(self) -> dict[str, Setting]:
        found = {}
        for rule, level in self.table("severities").items():
            if level not in LEVELS:
                self.wrong(f"must be one of {', '.join(LEVELS)} (it is {shorten(repr(level))})", "severities", rule)
            found[self.rule_id(rule, "severities", rule)] = Setting(rule, level, self.place("severities", rule))
        return found

    def ignores(self) -> list[Ignore]:
        found = []
        for pattern, table in self.table("ignores").items():
            if not isinstance(table, dict):
                self.wrong('must be a table of rules, KV201 = "why it may stay"', "ignores", pattern)
            for rule, value in table.items():
                keys = ("ignores", pattern, rule)
                given = value if isinstance(value, dict) else {"reason": value}
                self.known(given, ("reason", "until"), *keys)
                until = given.get("until")
                if until is not None and (isinstance(until, datetime.datetime) or not isinstance(until, datetime.date)):
                    self.wrong(f"until must be a date such as 2027-01-31 (it is {shorten(repr(until))})", *keys)
                reason = self.scalar("text", given.get("reason", ""), *keys)
                found.append(Ignore(self.rule_id(rule, *keys), str(reason).strip(), pattern, until, self.place(*keys)))
        return found

    def table(self, name: str) -> Mapping[str, Any]:
        value = self.tables.get(name, {})
        return value if isinstance(value, dict) else self.wrong("must be a table", name)

    def known(self, table: Mapping[str, Any], names: tuple[str, ...], *keys: str) -> None:
        for key in table:
            if key not in names:
                guesses = did_you_mean(key, names, 1)
                advice = f"did you mean {guesses[0]}?" if guesses else "keys: " + ", ".join(names)
                raise InputError(
                    f"no key {shorten(key)!r} is known here", where=str(self.place(*keys, key)), help=advice
                )

    def rule_id(self, rule: str, *keys: str) -> str:
        return (
            rule if re.fullmatch(r"KV\d{3}", rule) else self.wrong(f"{shorten(rule)!r} is no rule such as KV201", *keys)
        )

    def one_of(self, name: str, allowed: tuple[str, ...]) -> str:
        value = str(self.tables[name])
        return value if value in allowed else self.wrong(f"must be one of {', '.join(allowed)}", name)

    def scalar(self, kind: str, value: object, *keys: str) -> str | int | float | bool:
        if kind == "text" and isinstance(value, str):
            return value
        if kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
            return value
        if kind == "any" and isinstance(value, str | int | float | bool):
            return value
        wanted = {"text": "text", "number": "a number", "any": "a single value"}[kind]
        return self.wrong(f"must be {wanted} (it is {shorten(repr(value))})", *keys)

    def file(self, name: str) -> str:
        return self.joined(self.scalar("text", self.tables[name], name))

    def joined(self, value: object) -> str:
        return os.path.join(self.folder, str(value))

    def beside(self, value: object) -> str:
        """A host or a model: a path where there is such a file beside this one, else a name."""
        path = self.joined(value)
        plain = re.fullmatch(r"[\w.@-]+(?:/[\w.-]+)?", str(value)) and not str(value).endswith(
            (".toml", ".json", ".gguf")
        )
        return path if not plain and os.path.exists(path) else str(value)

    def place(self, *keys: str) -> Place:
        """The line of a key, else of the nearest table around it."""
        whole = (*self.prefix, *keys)
        while whole and whole not in self.lines:
            whole = whole[:-1]
        return Place(self.path, self.lines.get(whole, 1))

    def wrong(self, message: str, *keys: str) -> NoReturn:
        name = ".".join(keys)
        raise InputError(f"{shorten(name)} {message}".strip(), where=str(self.place(*keys)))
