"""Pages of the documentation that are made from declarations: they are written anew at each build.

Each module has ``write(docs)``, which writes Markdown below the folder `docs`. A file is only touched where its text
has changed, so that a second build is quick.
"""

from pathlib import Path

from generators import command_line, gallery, names, operators, tutorials


def write_all(docs: Path) -> None:
    """Write all generated pages."""
    for module in (operators, command_line, names, tutorials, gallery):
        module.write(docs)
