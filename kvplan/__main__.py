"""The console script, and ``python -m kvplan``."""

from __future__ import annotations

import gc


def main() -> None:
    """Run the command line. An answer makes no cycles to speak of, and looking for them costs 5 % of a ``fit``."""
    gc.set_threshold(500_000)
    from kvplan.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
