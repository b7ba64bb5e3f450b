"""A graph as a page to hand on: drawing, every step with its pictures, code and cost; it opens as the graph again."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.drawing import svg
from dali_lab.formats.pictures.labels import label
from dali_lab.formats.python import dumps as program
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import FormatError
from dali_lab.model.short_text import printable

_BEGIN = b'<script type="application/json" id="dali-lab-graph">'
_END = b"</script>"
_SEARCHED = 4096
"""The graph stands within so many bytes of the beginning of a page."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""The content security policy: no scripts, nothing from elsewhere."""
_STYLE = """
.report { font: 13px/1.5 system-ui, sans-serif; color: #1b2430; background: #fff; max-width: 1100px;
  margin: 0 auto; padding: 32px 16px; }
.report h1 { font-size: 20px; margin: 0 0 4px; } .report h2 { font-size: 15px; margin: 32px 0 8px; }
.report .soft { color: #5b6470; } .report p { margin: 0; }
.report .graph { text-align: center; } .report .graph > svg { max-width: 100%; max-height: 900px; height: auto; }
.report .step { display: flex; gap: 16px; padding: 12px 0; border-top: 1px solid #d9dde3; }
.report .about { flex: 0 0 232px; overflow-wrap: anywhere; }
.report .about code { display: block; font: 11.5px/1.6 ui-monospace, monospace; color: #5b6470; }
.report .shown { display: flex; flex: 1; flex-wrap: wrap; gap: 6px;
  align-content: flex-start; align-items: flex-start; }
.report .shown img { display: block; border-radius: 4px; }
.report .value { padding: 1px 8px; border-radius: 4px; background: #f1f3f6; font: 12px/1.7 ui-monospace, monospace; }
.report .problem { color: #b3261e; }
.report table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.report td { padding: 2px 16px 2px 0; } .report td.number { text-align: right; }
.report .bar { height: 8px; border-radius: 2px; background: #2f6fc4; }
.report pre { margin: 0; padding: 12px; border-radius: 6px; background: #f6f7f9; font: 12px/1.5 ui-monospace, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Shown:
    """Results of a node for a batch.

    Attributes
    ----------
    summary
        The batch in words.
    pictures
        Type, content, width and height of each picture.
    values
        Samples that are no pictures, as text: labels and draws of random arguments.
    milliseconds
        Time that the batch took, summed over threads.
    problem
        Why the node gave nothing.
    """

    summary: str = ""
    pictures: Sequence[tuple[str, bytes, int, int]] = ()
    values: Sequence[str] = ()
    milliseconds: float | None = None
    problem: str = ""


def page(graph: Graph, title: str = "", shown: Mapping[str, Shown] | None = None) -> str:
    """A graph as a page of HTML that needs nothing else, and is XML as well.

    Parameters
    ----------
    title
        Its heading; by default that of the graph.
    shown
        What the nodes gave, by name; without it, the page has the drawing and the code alone.
    """
    shown = shown or {}
    heading = escape(printable(title or "Pipeline", 200))
    settings = ", ".join(
        f"{name.replace('_', ' ')} {graph.pipeline[name]}"
        for name in ("batch_size", "seed", "num_threads")
        if graph.pipeline.get(name) is not None
    )
    # The same to HTML, where "<" could end the script, and to XML.
    inside = json_file.dumps(graph).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    body = [
        f"<h1>{heading}</h1>",
        f'<p class="soft">{len(graph.nodes)} nodes{escape(printable(f", {settings}" if settings else "", 200))}</p>',
        f'<div class="graph">{svg(graph)}</div>',
        *_steps(graph, shown),
        *_cost(shown),
        "<h2>Code</h2>",
        f"<pre>{escape(_xml_text(_code(graph)))}</pre>",
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>',
            f"<title>{heading}</title>",
            f"{_BEGIN.decode()}{inside}{_END.decode()}",
            f"<style>{_STYLE}</style></head>",
            '<body><main class="report">',
            *body,
            "</main></body></html>",
            "",
        ]
    )


def loads(data: bytes) -> Graph:
    """The graph inside a page.

    Raises
    ------
    FormatError
        If there is none, or it is cut off.
    """
    begin = data.find(_BEGIN, 0, _SEARCHED)
    end = data.find(_END, begin)
    if begin < 0 or end < 0:
        raise FormatError("this page has no graph inside: it was not exported here, or something stripped it")
    try:
        text = data[begin + len(_BEGIN) : end].decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError("the graph inside the page is damaged") from error
    return json_file.loads(text.encode())


def detect(data: bytes, name: str) -> bool:
    """Whether a content is such a page."""
    return _BEGIN in data[:_SEARCHED]


def _code(graph: Graph) -> str:
    try:
        return program(graph)
    except FormatError as error:
        return f"# {error}"


def _xml_text(text: str) -> str:
    """A text without characters that XML does not have."""
    return "".join(letter if letter >= " " or letter in "\t\n" else "\ufffd" for letter in text)


def _steps(graph: Graph, shown: Mapping[str, Shown]) -> list[str]:
    if not shown:
        return []
    rows = ["<h2>Step by step</h2>"]
    for name, node in graph.nodes.items():
        given = shown.get(name, Shown())
        text = label(node)
        about = [f"<strong>{escape(text.title)}</strong>", f'<p class="soft">{escape(text.subtitle)}</p>']
        about += [f"<code>{escape(line)}</code>" for line in text.lines]
        about += [f"<code>{escape(key)} ← {escape(str(edge))}</code>" for key, edge in node.connections.items()]
        results = [
            f'<img alt="" width="{width}" height="{height}" src="data:{mime};base64,{b64encode(content).decode()}"/>'
            for mime, content, width, height in given.pictures
        ]
        results += [f'<span class="value">{escape(printable(value, 80))}</span>' for value in given.values]
        if given.problem:
            results.append(f'<p class="problem">{escape(printable(given.problem, 400))}</p>')
        if given.summary:
            about.append(f'<p class="soft">{escape(printable(given.summary, 120))}</p>')
        parts = f'<div class="about">{"".join(about)}</div><div class="shown">{"".join(results)}</div>'
        rows.append(f'<div class="step">{parts}</div>')
    return rows


def _cost(shown: Mapping[str, Shown]) -> list[str]:
    times = {name: given.milliseconds for name, given in shown.items() if given.milliseconds is not None}
    if not times:
        return []
    most, total = max(times.values()) or 1.0, sum(times.values())
    rows = [
        f'<tr><td>{escape(printable(name, 60))}</td><td class="number">{spent:.2f} ms</td>'
        f'<td><div class="bar" style="width:{max(1.0, 240 * spent / most):.0f}px"></div></td></tr>'
        for name, spent in sorted(times.items(), key=lambda item: -item[1])
    ]
    return [
        "<h2>Cost</h2>",
        f'<p class="soft">{total:.1f} ms for this batch, summed over threads, when each node was computed</p>',
        f"<table>{''.join(rows)}</table>",
    ]
