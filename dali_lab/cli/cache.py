"""``dali-lab cache``: what cache folders hold, whether it is whole, and removing it."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from dali_lab.cli.options import Commands, add_command


def add(commands: Commands) -> None:
    """Declare the command and its parts."""
    parser = add_command(commands, "cache", "list, check or remove the results in a cache folder")
    tasks = parser.add_subparsers(dest="part", metavar="PART", required=True)
    for name, function, text in (
        ("ls", _list, "list what is kept: samples, bytes, the time that computing them took, the last use"),
        ("verify", _verify, "read all that is kept and compare it with its sums"),
        ("rm", _remove, "remove a cache; other files in its folder are left"),
    ):
        task = add_command(tasks, name, text)
        task.add_argument("folder", metavar="FOLDER", help="the cache folder, or its URL")
        task.set_defaults(function=function)


def _list(options: argparse.Namespace) -> int:
    total = 0
    kind, root = _existing(options.folder)
    for part in kind.parts(root):
        total += part.nbytes
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(part.used))
        print(
            f"{part.name[:12]}  {part.samples:,} samples, {part.nbytes / 1e6:,.1f} MB,"
            f" {part.seconds:,.1f} s to compute, last used {used}: {_operators(part.meaning)}"
        )
    print(f"{total / 1e6:,.1f} MB in {options.folder}")
    return 0


def _operators(meaning: str) -> str:
    """The operators of a part, in order."""
    try:
        described = json.loads(meaning.partition("\n")[0])[0]
        return ", ".join(str(node[0]) for node in described)
    except (ValueError, IndexError, TypeError, KeyError):
        return "what it is cannot be read"


def _verify(options: argparse.Namespace) -> int:
    wrong = 0
    kind, root = _existing(options.folder)
    for part in kind.parts(root):
        whole, bad = kind.damaged(root, part.name)
        wrong += bad
        print(f"{part.name[:12]}  {whole:,} samples are whole, {bad:,} damaged")
    if wrong:
        print("Damaged samples are never used: the next run computes them again.")
    return 1 if wrong else 0


def _remove(options: argparse.Namespace) -> int:
    kind, root = _existing(options.folder)
    kind.remove(root)
    return 0


def _existing(place: str) -> tuple[Any, Any]:
    """The functions for a cache, which are those of folders or of object stores, and where it is."""
    from dali_lab.executor.caching import folder, remote_folder
    from dali_lab.io.locations import canonical, is_remote

    kind = remote_folder if is_remote(place) else folder
    return kind, kind.existing(canonical(place))
