"""The command line: one module per command, with its options and its action."""

from __future__ import annotations

from dali_lab.cli import interruption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

_PATIENCE = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; see :func:`dali_lab.cli.entry.main`.

    Without `arguments` this is a process of its own, which Ctrl-C ends at any time without a traceback.
    """
    if arguments is not None:
        from dali_lab.cli import entry

        return entry.main(arguments)
    interruption.end_quietly(None)
    from dali_lab.cli import entry

    interruption.end_quietly(_PATIENCE)
    status = entry.main()
    if status == interruption.INTERRUPTED:
        interruption.leave(status)
    return status


def make_parser() -> ArgumentParser:
    """All commands and their options."""
    from dali_lab.cli.entry import make_parser

    return make_parser()


__all__ = ["main", "make_parser"]
