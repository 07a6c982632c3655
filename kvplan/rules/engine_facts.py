"""What a deployment says of its engine and ranks, whether or not its GPU side could be judged."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.engines import find_engine
from kvplan.engines.versions import release
from kvplan.errors import InputError
from kvplan.rules.context import Context


class Ranks(NamedTuple):
    """Processes that have a GPU each, over all hosts that the replica spreads over."""

    tp: int
    pp: int
    dp: int
    nodes: int
    known: bool
    """False where a size that multiplies is a variable."""

    @property
    def gpus(self) -> int:
        """Ranks in all."""
        return self.tp * self.pp * self.dp

    @property
    def on_a_host(self) -> int:
        """Ranks of one pod or host: what its memory limit bounds."""
        return max(self.gpus // self.nodes, 1)


def ranks_of(context: Context) -> Ranks:
    """The layout as the file has it; what it does not say is one."""
    tp, pp = (max(int(context.number(name, 1.0)), 1) for name in ("tp", "pp"))
    local = context.number("dp_local")
    dp = max(int(local or context.number("dp", 1.0)), 1)
    nodes = 1 if local else max(int(context.number("nodes", 1.0)), 1)
    open_names = {item.name for item in context.found.unresolved}
    judged = context.judged
    if judged is not None and not context.has("tp", "pp", "dp"):
        layout = judged.deployment.layout
        return Ranks(layout.tp, layout.pp, layout.dp, nodes, True)
    return Ranks(tp, pp, dp, nodes, not open_names & {"tp", "pp", "dp", "dp_local"})


def engine_name(context: Context) -> str:
    """``vllm`` and the like: of the judged deployment, else as the file says."""
    if context.judged is not None:
        return context.judged.deployment.engine.name
    return str(context.found.value("engine") or context.found.engine).partition("@")[0]


def pinned_version(context: Context) -> tuple[int, ...] | None:
    """The engine's version where the file names one that kvplan models; None where another one may run."""
    name, _, version = str(context.found.value("engine") or "").partition("@")
    if not version:
        return None
    try:
        find_engine(name).resolve_version(version)
        return release(version)
    except InputError:
        return None


def version_words(context: Context) -> str:
    """``vllm 0.10.0``, or ``vllm, no version given``."""
    version = pinned_version(context)
    words = ".".join(str(part) for part in version) if version else ""
    return f"{engine_name(context)} {words}" if words else f"{engine_name(context)}, no version given"
