"""``kvplan lock`` on a screen: what is missing comes before what is well."""

from __future__ import annotations

from kvplan.render import humans
from kvplan.render.screen import Column, Page
from kvplan.results.kv import kv_of
from kvplan.results.lock import Known, LockResult
from kvplan.results.lock_rows import Entry, Unlocked

LABEL_COLUMNS = 10
_COLUMNS = (Column("model"), Column("lock"), Column("parameters", right=True), Column("KV/token", right=True),
            Column("source"))  # fmt: skip
_PLACES_SHOWN = 3


def render(answer: LockResult) -> str:
    """The outcome, the open questions, the rows of the file, and what needs no row."""
    page = Page()
    page.verdict(_verdict(answer))
    page.gap()
    for missing in answer.unlocked:
        _question(page, missing)
    if answer.entries:
        page.gap()
        page.table(_COLUMNS, [_row(item, page.columns) for item in answer.entries])
    page.gap()
    for item in answer.entries:
        names = item.locked.row.get("aliases", ())
        if names:
            page.labelled("Also", f"{item.locked.name}: {', '.join(names)}", LABEL_COLUMNS)
    for known in answer.known:
        page.labelled("Known", _known(known), LABEL_COLUMNS)
    for dropped in answer.dropped:
        page.labelled("Dropped", f"{dropped.name}: {dropped.reason}", LABEL_COLUMNS)
    for fault in answer.unreadable:
        page.labelled("Not read", f"{answer.root.place(str(fault.place))}: {fault.message}", LABEL_COLUMNS)
    if answer.written:
        page.faint("Commit the file: kvplan check and kvplan diff read it by themselves.")
    return page.text()


def _verdict(answer: LockResult) -> str:
    """``kvplan.lock.toml: 3 models locked (1 new, 2 kept); 1 could not be locked``."""
    if not answer.deployments:
        return "CANNOT lock: no deployment is recognised"
    counts = [f"{count} {status}" for status in ("new", "changed", "same", "kept") if (count := answer.count(status))]
    models = _counted(len(answer.entries), "model")
    if answer.words.check:
        state = "STALE: kvplan lock would change it" if answer.stale else "up to date"
        lead = f"{answer.file} is {state}, {models}"
    elif answer.entries or answer.written:
        lead = f"{'Wrote' if answer.written else 'Nothing to change in'} {answer.file}: {models}"
    else:
        lead = "Nothing to lock: every model is in a catalog" if not answer.unlocked else "Nothing is locked"
    shown = f" ({', '.join(counts)})" if counts else ""
    missing = f"; {len(answer.unlocked)} could not be locked" if answer.unlocked else ""
    return f"{lead}{shown}{missing}."


def _question(page: Page, item: Unlocked) -> None:
    places = ", ".join(item.places[:_PLACES_SHOWN])
    more = len(item.places) - _PLACES_SHOWN
    where = f"{places} and {more} more" if more > 0 else places
    text = f"{item.text}: {item.question}" if item.text else item.question
    page.labelled("Missing", f"{text}  ({where})", LABEL_COLUMNS)
    if item.remedy:
        page.labelled("", f"remedy: {item.remedy}", LABEL_COLUMNS)


def _row(item: Entry, columns: int) -> tuple[str, ...]:
    model = item.locked.model
    source = model.source.partition("; ")[0]
    room = max(columns - 62, 20)
    token = humans.bytes_per_token(kv_of(model).kv_bytes_per_token)
    shown = source if len(source) <= room else source[: room - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return item.locked.name, item.status, humans.billions(model.weights.total), token, shown


def _known(item: Known) -> str:
    alias = "" if item.text.lower() == item.name.lower() else f" is {item.name}"
    note = ", which only this machine reads: list it in .kvplan.toml as catalog" if item.only_here else ""
    return f"{item.text}{alias}, of {item.catalog}{note}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
