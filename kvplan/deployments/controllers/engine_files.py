"""An engine's own configuration file as a map -> its arguments: YAML inside ConfigMaps and of launchers."""

from __future__ import annotations

from kvplan.deployments.argv import Arguments
from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.commands.interface import ReadsFiles
from kvplan.deployments.controllers.options import words_of
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node


def file_wins(engine: str) -> bool:
    """Whether the settings of such a file override those of the command line."""
    command = command_of_engine(engine)
    return isinstance(command, ReadsFiles) and command.file_wins


def arguments_of_options(engine: str, options: Node | None, source: Source) -> Arguments:
    """The arguments that a map of options amounts to."""
    command = command_of_engine(engine)
    if isinstance(command, ReadsFiles) and options is not None:
        return command.of_file(options, source)
    return command.read(words_of(options, source))
