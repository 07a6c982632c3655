"""The host that a deployment runs on: what its file says first, then what the project and the user say.

A file's own words are ``host``, an instance type, or a label that the project explains. Then come the host of the
file's pattern in the project, ``--host``, and the project's own. A GPU's label alone gives the GPU and nothing else:
cores, host memory and link of such a host are not known, and nothing is guessed for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvplan.catalog.hardware import host_table
from kvplan.deployments.as_words import Translated
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.names.gpus import gpu_named, names_a_gpu
from kvplan.deployments.names.instances import chip_host, family_gpu, instance_host
from kvplan.deployments.project_config import ProjectFacts
from kvplan.domain.host import Host
from kvplan.errors import InputError, KvplanError
from kvplan.rules.gpu_slice import cards_with, sliced
from kvplan.rules.loaded_rows import gpu_by_name, host_by_name
from kvplan.rules.named import beside
from kvplan.rules.surroundings import is_other_gpu
from kvplan.units import shorten

UNKNOWN_HOST = "only the GPU is known: give --host for cores, host memory and links"
MOST_GPUS = 1024
"""Of a machine that is known by its GPUs alone; the largest that are sold as one have 72."""
MOST_SLICES = 8
"""Parts of one card that a container may be given."""
_LABELS = ("instance_type", "gpu_product", "resource_profile")


class NoHost(Exception):
    """The host can't be settled: what to say of it, and which settings are to blame."""

    def __init__(self, message: str, *settings: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message, self.settings, self.remedy = message, settings, remedy


@dataclass(frozen=True, slots=True)
class Around:
    """Everything outside the file that may say where it runs."""

    default_host: str | None = None
    """``--host``."""
    facts: ProjectFacts = ProjectFacts()
    catalog: tuple[str, ...] = ()
    folder: str = ""
    """Of the file, where its form names paths."""
    gpu: str | None = None
    """One of the GPUs that the file's label may mean, where each is judged."""
    mates: tuple[FoundDeployment, ...] = ()
    """Deployments of the same file on one of the same GPUs."""

    def host_of_others(self) -> str | None:
        """The host of files that name none."""
        return self.facts.host(self.default_host)


def which_host(found: FoundDeployment, translated: Translated, around: Around) -> Host:
    """The host with the GPUs that the deployment gets: whole cards, slices or shares. Raises NoHost."""
    host = _machine(found, translated, around)
    profile = _text(translated, "mig_profile") or _sliced_label(translated)
    limit, fraction = _text(translated, "gpu_memory_limit"), translated.number("gpu_fraction")
    try:
        part = sliced(host, profile, limit, fraction)
    except InputError as error:
        names = [name for name in ("mig_profile", "gpu_memory_limit", "gpu_fraction") if name in translated.values]
        raise NoHost(error.message, *names, "gpu_product") from None
    if part is host:
        return host
    asked = int(translated.number("gpus") or 1)
    return part._replace(gpus=max(part.gpus, min(asked, part.gpus * MOST_SLICES)))


def cards_meant(found: FoundDeployment, translated: Translated, around: Around) -> tuple[str, ...]:
    """GPUs of the catalog that a file may mean, where it and the project say no more: by its label or its MIG slice."""
    product, profile = _text(translated, "gpu_product"), _text(translated, "mig_profile")
    machine = any(_text(translated, name) for name in ("host", "instance_type")) or around.host_of_others()
    labels = (_text(translated, name) for name in _LABELS)
    if machine or any(text and around.facts.label(text) for text in labels):
        return ()
    if product and names_a_gpu(product):
        named = gpu_named(product, scheduler=is_scheduler(found), extra=around.catalog)
        return named.gpus if named else ()
    return cards_with(profile) if profile else ()


def _machine(found: FoundDeployment, translated: Translated, around: Around) -> Host:
    named = _text(translated, "host")
    if named:
        return _loaded(beside(around.folder, named, host_table, around.catalog), around, "host")
    for name in _LABELS:
        text = _text(translated, name)
        label = around.facts.label(text) if text else None
        if label is not None and label.host is not None:
            return _loaded(label.host, around, name, gpus=label.gpus)
        if label is not None and label.gpu is not None:
            return _of_gpu(label.gpu, found, translated, around, gpus=label.gpus)
    instance, product = _text(translated, "instance_type"), _text(translated, "gpu_product")
    known = instance_host(instance, around.catalog) if instance else None
    if known is not None:
        return _loaded(known, around, "instance_type")
    family = family_gpu(instance) if instance else None
    other = around.host_of_others()
    if other:
        return _not_contradicted(_loaded(other, around, "host"), product or family)
    if family is not None:
        return _of_gpu(family, found, translated, around)
    if around.gpu is not None or (product and names_a_gpu(product)):
        return _of_gpu(product or "", found, translated, around)
    raise _nothing(instance, product)


def _not_contradicted(host: Host, product: str | None) -> Host:
    if product and host.gpu is not None and is_other_gpu(product, host.gpu.name):
        message = f"the file asks for {shorten(product)}, and {host.name} has {host.gpu.name}"
        raise NoHost(message, "gpu_product", remedy="give --host with such a GPU")
    return host


def _loaded(name: str, around: Around, setting: str, gpus: int | None = None) -> Host:
    try:
        host = host_by_name(name, around.catalog)
    except KvplanError as error:
        raise NoHost(f"the host can't be looked up: {error.message}", setting, remedy=error.help) from None
    return host if gpus is None else host._replace(gpus=min(gpus, host.gpus))


def _of_gpu(text: str, found: FoundDeployment, translated: Translated, around: Around, gpus: int | None = None) -> Host:
    """A host of which only the GPUs are known: as many as the label counts, else as are asked for or used."""
    chip = chip_host(text)
    if chip is not None:
        return _loaded(chip, around, "gpu_product")
    named = gpu_named(text, scheduler=is_scheduler(found), extra=around.catalog)
    rows = (around.gpu,) if around.gpu is not None else named.gpus if named else ()
    if not rows:
        raise _nothing(None, text)
    gpu = gpu_by_name(rows[0], around.catalog)
    ranks = 1
    for name in ("tp", "pp", "dp_local" if "dp_local" in translated.values else "dp"):
        ranks *= max(int(translated.number(name) or 1), 1)
    counted = gpus or (named.number if named else None)
    count = counted or int(translated.number("gpus") or 0) or ranks
    if count > MOST_GPUS:
        raise NoHost(f"no machine has {count:,} GPUs: give --host", "gpus", "tp", "pp", "dp")
    return Host(
        name=rows[0],
        title=f"{count}x {gpu.name}, host not known",
        category="server",
        gpu=gpu,
        gpus=count,
        cpu=None,
        cpu_cores=None,
        dram_bytes=None,
        dram_bytes_per_s=None,
        numa_nodes=None,
        link=None,
        unified_memory=False,
        gpu_share_fraction=None,
        os_reserve_bytes=0.0,
        source=gpu.source,
        notes=(UNKNOWN_HOST,),
    )


def is_scheduler(found: FoundDeployment) -> bool:
    """Whether GPUs are named as SkyPilot names them."""
    return found.form.startswith("sky")


def _nothing(instance: str | None, product: str | None) -> NoHost:
    asked = product if product and names_a_gpu(product) else None
    named = instance or asked
    if named is None:
        message = "the file does not say which host it runs on, so no budget is known"
        return NoHost(message, "gpu_product", "gpus", remedy="give --host NAME (kvplan host list)")
    what = "instance type" if instance else "GPU"
    message = f"the file does not say which host it runs on, and {what} {shorten(named)!r} is not in the catalog"
    remedy = f'give --host NAME (kvplan host list), or say in .kvplan.toml: [labels] "{shorten(named)}" = "HOST"'
    return NoHost(message, "instance_type" if instance else "gpu_product", "gpus", remedy=remedy)


def _sliced_label(translated: Translated) -> str | None:
    """The MIG profile at the end of a label, as GPU feature discovery writes it where all GPUs are sliced alike."""
    named = gpu_named(_text(translated, "gpu_product") or "")
    return named.mig_profile if named else None


def _text(translated: Translated, name: str) -> str | None:
    value = translated.values.get(name)
    return str(value) if value not in (None, "") else None
