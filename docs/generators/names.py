"""Tables of other libraries' classes with the operators and gallery entries that do the same."""

from __future__ import annotations

from pathlib import Path

from dali_lab.gallery import load_gallery
from dali_lab.model.documentation import page_name
from dali_lab.schema.everyday import names_in
from dali_lab.schema.registry import find_operator
from generators.files import write_page

LIBRARIES = ("torchvision", "albumentations", "keras")


def write(docs: Path) -> None:
    """Write `coming-from/_names-LIBRARY.md`, which the page about the library includes."""
    gallery = load_gallery()
    for library in LIBRARIES:
        lines = ["| there | here | as a graph in the gallery |", "|---|---|---|"]
        same, near = names_in(library), names_in(f"{library}_near")
        for name in sorted({*same, *near}, key=str.lower):
            places = same.get(name) or near[name]
            nearest = "" if name in same else "nearest: "
            operators = [
                f"[`fn.{place}`](../reference/operators/{page_name(find_operator(place).name)}.md)"
                for kind, place in places
                if kind == "operators"
            ]
            entries = [
                f'<a href="../gallery/entries/{place}.html">{gallery[place].title}</a>'
                for kind, place in places
                if kind == "gallery"
            ]
            lines.append(f"| `{name}` | {nearest}{', '.join(operators) or '—'} | {', '.join(entries) or '—'} |")
        write_page(docs / "coming-from" / f"_names-{library}.md", "\n".join(lines) + "\n")
