"""The site's pages as HTML. Everything that comes from files is escaped; links are relative."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from dali_lab.gallery.entries import BrokenEntry, Entry
from dali_lab.studio.gallery.describing import families_of
from dali_lab.studio.protocol.catalogue import ArgumentDeclaration, Operator
from dali_lab.studio.protocol.gallery import Cost


@dataclass
class Range:
    """Pictures of one argument over its range."""

    label: str
    unit: str
    values: list[float]
    pictures: list[str | None]


@dataclass
class EntryPage:
    """Contents of an entry's page; pictures and files by their path from the site's folder."""

    entry: Entry
    graph_file: str
    operators: list[str]
    before: str | None = None
    after: str | None = None
    samples: list[tuple[str | None, str | None]] = field(default_factory=list)
    draws: list[str | None] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    random: bool = False
    drawing: str = ""
    code: str = ""
    cost: Cost | None = None


_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; "
    "base-uri 'none'; form-action 'none'"
)
"""The content security policy of all pages; by `file:` they work from the file system, which has no origins."""


def document(title: str, body: str, up: str = "") -> str:
    """A whole page; `up` leads to the site's folder."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f'<link rel="stylesheet" href="{up}style.css">\n</head>\n'
        f'<body>\n{body}\n<script src="{up}site.js"></script>\n</body>\n</html>\n'
    )


def index_page(shown: Sequence[EntryPage], broken: Sequence[BrokenEntry]) -> str:
    """The wall."""
    sections = []
    for family in families_of([page.entry for page in shown]):
        pages = [page for page in shown if page.entry.family == family.name]
        tiles = "".join(_tile(page) for page in pages)
        title = escape(family.title)
        sections.append(
            f'<section><h2>{title} <small>{len(pages)}</small></h2><div class="tiles">{tiles}</div></section>'
        )
    tags = sorted({tag for page in shown for tag in page.entry.tags})
    buttons = "".join(
        f'<button type="button" class="tag" data-tag="{escape(tag)}">{escape(tag)}</button>' for tag in tags
    )
    body = (
        f'<header><h1>Gallery</h1><input type="search" id="search" placeholder="Search" '
        f'aria-label="Search"></header>\n<nav class="tags">{buttons}</nav>\n<main>{"".join(sections)}'
        f'<p id="nothing" hidden>No entry matches all of these filters.</p>{_broken(broken)}</main>'
    )
    return document("DALI Lab: gallery", body)


def _tile(page: EntryPage) -> str:
    entry = page.entry
    words = " ".join([entry.name, entry.title, entry.family, *entry.tags, *page.operators]).lower()
    pictures = "".join(
        f'<img src="{escape(path)}" alt="{word}" loading="lazy">'
        for path, word in ((page.before, "before"), (page.after, "after"))
        if path is not None
    )
    waits = f'<span class="note">Waiting: {escape(entry.waiting)}</span>' if entry.waiting is not None else ""
    return (
        f'<a class="tile" href="entries/{escape(entry.name)}.html" data-words="{escape(words)}" '
        f'data-tags="{escape(" ".join(entry.tags))}"><span class="pair">{pictures}{waits}</span>'
        f"<span>{escape(entry.title)}</span></a>"
    )


def _broken(broken: Sequence[BrokenEntry]) -> str:
    if not broken:
        return ""
    lines = "".join(f"<li><strong>{escape(entry.name)}</strong> {escape(entry.problem)}</li>" for entry in broken)
    return f'<section class="broken"><h2>Cannot be shown</h2><ul>{lines}</ul></section>'


def entry_page(page: EntryPage, neighbours: tuple[EntryPage | None, EntryPage | None]) -> str:
    """An entry's page, with links to those before and after it."""
    entry = page.entry
    links = "".join(
        f'<a href="{escape(other.entry.name)}.html">{word}: {escape(other.entry.title)}</a>'
        for word, other in zip(("Before", "Next"), neighbours, strict=True)
        if other is not None
    )
    parts = [
        f'{_header(escape(entry.title))}\n<main class="entry">',
        f"<dl><dt>Helps</dt><dd>{escape(entry.helps)}</dd><dt>Hurts</dt><dd>{escape(entry.hurts)}</dd></dl>",
    ]
    if entry.waiting is not None:
        parts.append(f'<p class="note">Waiting: {escape(entry.waiting)}</p>')
    if page.samples:
        parts.append(_section("Before and after", f'<div class="pairs">{"".join(map(_pair, page.samples))}</div>'))
    if page.draws:
        parts.append(_section("Random draws", f'<div class="strip">{_images(page.draws, "draw")}</div>'))
    parts.extend(_range(index, one) for index, one in enumerate(page.ranges))
    parts.append(_section("Graph", f'<div class="graph">{page.drawing}</div>{_download(page)}'))
    if page.code:
        button = '<button type="button" class="copy">Copy</button>'
        parts.append(_section("Python", f'<div class="code">{button}<pre>{escape(page.code)}</pre></div>'))
    if page.cost is not None:
        parts.append(_section("Cost", _cost(page.cost)))
    operators = "".join(
        f'<li><a href="../operators/{escape(op)}.html"><code>fn.{escape(op)}</code></a></li>' for op in page.operators
    )
    parts.append(_section("Operators", f"<ul>{operators}</ul>"))
    parts.append(f'</main>\n<nav class="neighbours">{links}</nav>')
    return document(f"{entry.title}: DALI Lab", "\n".join(parts), "../")


def operator_page(operator: Operator, users: Sequence[EntryPage]) -> str:
    """An operator's page: its description, and the entries that use it."""
    rows = "".join(
        f"<tr><td><code>{escape(one.name)}</code></td><td>{escape(_default(one))}</td><td>{_text(one.doc)}</td></tr>"
        for one in operator.arguments
    )
    entries = "".join(
        f'<li><a href="../entries/{escape(page.entry.name)}.html">{escape(page.entry.title)}</a></li>' for page in users
    )
    table = f"<table><tr><th>Argument</th><th>Default</th><th></th></tr>{rows}</table>" if rows else "<p>None.</p>"
    doc = "".join(f"<p>{_text(part)}</p>" for part in re.split(r"\n\s*\n", operator.doc))
    name = operator.nvidia
    there = f"In NVIDIA DALI: <code>{escape(name)}</code>." if name else "NVIDIA DALI has no such operator."
    body = (
        f"{_header('<code>fn.' + escape(operator.name) + '</code>')}"
        f'<main class="entry"><p>{_text(operator.summary)}</p>{doc}<p>{there}</p>'
        f"{_section('Arguments', table)}{_section('Entries', f'<ul>{entries}</ul>')}</main>"
    )
    return document(f"{operator.name}: DALI Lab", body, "../")


def _header(title: str) -> str:
    """The head of a page below the wall; `title` is HTML."""
    return f'<header><p><a href="../index.html">Gallery</a></p><h1>{title}</h1></header>'


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _pair(pair: tuple[str | None, str | None]) -> str:
    images = "".join(
        f'<img src="../{escape(path)}" alt="{word}">'
        for path, word in zip(pair, ("before", "after"), strict=True)
        if path is not None
    )
    return f'<span class="pair">{images}</span>'


def _images(paths: Sequence[str | None], word: str) -> str:
    return "".join(
        f'<img src="../{escape(path)}" alt="{word} {number + 1}">'
        for number, path in enumerate(paths)
        if path is not None
    )


def _range(index: int, one: Range) -> str:
    figures = "".join(
        f'<figure><img src="../{escape(path)}" alt="{escape(one.label)} {value:g}">'
        f"<figcaption>{value:g} {escape(one.unit)}</figcaption></figure>"
        for value, path in zip(one.values, one.pictures, strict=True)
        if path is not None
    )
    return (
        _section(f"Range: {one.label}", f'<div class="strip" data-range="{index}">{figures}</div>') if figures else ""
    )


def _download(page: EntryPage) -> str:
    name = f"{escape(page.entry.name)}.dali.json"
    return f'<p><a href="../{escape(page.graph_file)}" download="{name}">{name}</a> opens in the editor.</p>'


def _cost(cost: Cost) -> str:
    alone = cost.decoding_images_per_second
    beside = "" if alone is None else f", {alone:,.0f} with reading and decoding alone"
    return f"<p>{cost.images_per_second:,.0f} images a second where this site was built{beside}.</p>"


def _default(argument: ArgumentDeclaration) -> str:
    if argument.required:
        return "needed"
    value = argument.default
    return "" if value is None else str(value)


def _text(text: str) -> str:
    """Text in which `code` stands between backquotes."""
    parts = re.split(r"(`+[^`]+`+)", text)
    return "".join(
        f"<code>{escape(part.strip('`'))}</code>" if part.startswith("`") else escape(part) for part in parts
    )
