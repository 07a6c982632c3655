"""The flags of one engine's command line as data, and how its parser takes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

_OPPOSITE = {"enable-": "disable-", "disable-": "enable-"}


@dataclass(frozen=True)
class FlagTable:
    """Long flags are kept without their two dashes, words joined by dashes."""

    settings: dict[str, str]
    """Flag -> the setting that it fills: a name of ``setting_kinds.KINDS``."""
    short: dict[str, str]
    """What stands behind a single dash -> the long flag."""
    switches: frozenset[str]
    """Flags without a value; each may also be written ``--no-...``."""
    several: frozenset[str] = frozenset()
    """Flags that take all the words up to the next flag."""
    others: frozenset[str] = frozenset()
    """Flags with one value that fill no setting."""
    prefixes: bool = True
    """Any unique beginning of a flag stands for it, as argparse has it."""
    engine: str = ""
    """As people write its name."""
    complete: bool = False
    """It has every flag of every version, so that a flag that is not in it does not exist."""
    pairs: bool = False
    """``--enable-x`` also stands for the opposite of ``--disable-x``, and the other way round (vLLM 0.33)."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Long flags that are other names of one."""

    @cached_property
    def flags(self) -> frozenset[str]:
        """Every long flag."""
        return frozenset(self.settings) | self.switches | self.several | self.others

    def named(self, written: str) -> str | None:
        """``--max_model_le`` -> ``max-model-len``: dashes and underscores alike, and any unique prefix.

        A long flag that is not in the table keeps its own name; a short one (``-tp``) that is not is None.
        """
        if not written.startswith("--"):
            return self.short.get(written[1:].partition(".")[0])
        name = written[2:].partition(".")[0].replace("_", "-").removesuffix("+")
        name = self.aliases.get(name, name)
        if self.takes_value(name) is not None:
            return name
        opposite = self._opposite(name) if self.pairs else None
        if opposite is not None:
            return f"no-{opposite}"
        longer = self.longer(name)
        return longer[0] if len(longer) == 1 else name

    def longer(self, name: str) -> list[str]:
        """The flags that begin with this name, where the parser takes beginnings at all."""
        if not self.prefixes or not name:
            return []
        negated = [f"no-{flag}" for flag in self.switches] if name.startswith("no-") else []
        return sorted(flag for flag in (*self.flags, *negated) if flag.startswith(name))

    def takes_value(self, flag: str) -> bool | None:
        """Whether a flag has a value; None for a flag that is not in the table."""
        if flag in self.switches or flag.removeprefix("no-") in self.switches:
            return False
        known = flag in self.settings or flag in self.several or flag in self.others
        return True if known else None

    def _opposite(self, name: str) -> str | None:
        for ours, theirs in _OPPOSITE.items():
            other = theirs + name.removeprefix(ours)
            if name.startswith(ours) and other in self.switches:
                return other
        return None
