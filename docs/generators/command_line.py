"""The reference of the command line, from the parsers of its commands."""

from __future__ import annotations

import argparse
from pathlib import Path

from dali_lab.cli.entry import make_parser
from generators.files import write_page


def write(docs: Path) -> None:
    """Write `reference/command-line.md`."""
    lines = [
        "# Command line",
        "",
        "`dali-lab COMMAND --help` prints the same. A command ends with status 0 when all went well, 1 when "
        "`check`, `diff` or `cache verify` found something or an entry of the gallery cannot be built, 2 for what you "
        "can put right, and 130 when it was interrupted.",
        "",
    ]
    for name, parser in _commands(make_parser()):
        lines += _command(name, parser, "##")
    write_page(docs / "reference" / "command-line.md", "\n".join(lines) + "\n")


def _commands(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    return [
        (name, command)
        for action in parser._actions  # argparse has no other way to ask for them
        if isinstance(action, argparse._SubParsersAction)
        for name, command in action.choices.items()
    ]


def _command(name: str, parser: argparse.ArgumentParser, heading: str) -> list[str]:
    about = next((help_ for help_ in [parser.description] if help_), "")
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    lines = [
        f"{heading} dali-lab {name}",
        "",
        *([_sentence(about), ""] if about else []),
        "```text",
        _wrapped(usage),
        "```",
        "",
    ]
    for action in parser._actions:
        if isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)):
            continue
        shown = ", ".join(action.option_strings) or str(action.metavar or action.dest)
        if action.option_strings and action.nargs != 0:
            shown += f" {action.metavar or action.dest.upper()}"
        text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
        lines += [f"`{shown}`", f": {_sentence(text) or '—'}", ""]
    for part, sub in _commands(parser):
        lines += _command(f"{name} {part}", sub, heading + "#")
    return lines


def _wrapped(usage: str) -> str:
    lines, current = [], ""
    for word in usage.split(" "):
        if len(current) + len(word) > 90 and word.startswith("["):
            lines.append(current)
            current = "    " + word
        else:
            current = f"{current} {word}" if current.strip() else current + word
    return "\n".join([*lines, current])


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return (
        text[:1].upper()
        + text[1:]
        + ("" if text.endswith((".", "?", "")) and text[-1:] in ".?" else "." if text else "")
    )
