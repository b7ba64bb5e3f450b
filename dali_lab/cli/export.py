"""``dali-lab export``: a graph as Python or in another form."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dali_lab.cli.options import Commands, add_command, load_graph, written
from dali_lab.model.errors import DaliLabError


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "export", "write a graph as Python or in another form")
    parser.add_argument("graph", metavar="GRAPH", help="a graph file, or the folder of a gallery entry")
    parser.add_argument(
        "--to",
        required=True,
        metavar="FORM",
        help="python, pytorch, ray, nvidia-python, torchvision, albumentations, keras, dali-serialized, json, dot, ...",
    )
    parser.add_argument("-o", "--output", type=written, metavar="FILE", help="file to write (default: print)")
    parser.set_defaults(function=_export)


def _export(options: argparse.Namespace) -> int:
    from dali_lab.formats import FORMATS, dump
    from dali_lab.studio.document.exports import export_document
    from dali_lab.studio.document.graph_files import title_of
    from dali_lab.studio.document.store import Store

    form = FORMATS.get(options.to)
    if form is not None and form.binary:
        if options.output is None:
            raise DaliLabError(f"'{options.to}' is not text: name a file with --output")
        dump(load_graph(options.graph), options.output, options.to)
        return 0
    store = Store()
    store.open_own(options.graph)
    result = export_document(store.document, options.to, title_of(Path(options.graph).name), options.output)
    for warning in result.warnings or ():
        print(f"dali-lab export: {warning}", file=sys.stderr)
    _write(result.text, options.output)
    return 0


def _write(text: str, path: str | None) -> None:
    if path is None:
        sys.stdout.write(text)
    else:
        from dali_lab.formats.disk import write_text

        write_text(path, text)
