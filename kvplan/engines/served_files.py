"""What an engine is told to load: a hub id, a folder, or a GGUF file."""

from __future__ import annotations

import os

from kvplan.domain.deployment import Deployment
from kvplan.engines.interface import quoted


def served_model(deployment: Deployment) -> str:
    """The model as the command names it: its hub id or folder, or a checkpoint that the user must have.

    A config under another name than config.json says nothing about where its weights are.
    """
    model, scheme = deployment.model, deployment.settings.weights
    name = model.hub_id or model.name
    short_name = name.rsplit("/", 1)[-1]
    if reads_gguf_file(deployment):
        return quoted(model.source)
    if scheme is not None and scheme != model.dtype and deployment.weight_scheme.llama_cpp:
        return quoted(f"PATH/TO/{short_name}-{scheme.upper()}.gguf")
    if scheme is not None and scheme not in (model.dtype, "fp8"):
        return quoted(f"PATH/TO/{short_name}-{scheme}")
    if model.hub_id or model.catalog_name:
        return quoted(name)
    folder, file = os.path.split(model.source)
    if file != "config.json":
        return quoted(f"PATH/TO/{short_name}")
    folder = folder or "."
    return quoted(f"./{folder}" if folder.startswith("-") else folder)


def reads_gguf_file(deployment: Deployment) -> bool:
    """Whether the weights are those of the GGUF file that was read."""
    model = deployment.model
    return model.source.endswith(".gguf") and deployment.settings.weights in (None, model.dtype)


def gguf_warnings(deployment: Deployment, tokenizer_flag: str) -> tuple[str, ...]:
    """What vLLM and SGLang want beside a GGUF file."""
    if not deployment.weight_scheme.llama_cpp:
        return ()
    advice = f"add {tokenizer_flag} with the original model's id: the one inside the file may not convert"
    return (f"{deployment.engine.name} reads a GGUF file of one part only; {advice}",)
