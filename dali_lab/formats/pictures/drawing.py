"""A picture of a graph as SVG, laid out here: layers from top to bottom, edges through the gaps between them.

Layers come from longest paths, the order within a layer from the median of the neighbours (Sugiyama's method), the
positions from pulling each node towards its neighbours while keeping the order.
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dali_lab.formats.pictures.folding import folded
from dali_lab.formats.pictures.labels import Label, fold_label, label, lines_of
from dali_lab.graph.graph import Graph

_GAP_X, _GAP_Y, _MARGIN = 28.0, 44.0, 12.0
_LINE = 14.0
_LETTER, _BESIDE = 6.0, 6.0
_SWEEPS = 6
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


@dataclass
class _Box:
    """An item of a layer: a node, an output mark, or the bend of a long edge."""

    text: Label | None
    width: float
    height: float
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


@dataclass
class _Line:
    path: list[int]
    text: str
    dashed: bool


def svg(graph: Graph) -> str:
    """The picture of a graph; it needs no other program and no fonts.

    Folded groups, and the conditions of a large graph, are one node each.
    Nodes carry a mark that tells CPU (blue), GPU (green) and mixed (teal) apart; dashed lines are argument inputs.
    """
    shown, folds = folded(graph)
    boxes, lines = _collect(shown, folds)
    layers = _layers(boxes)
    _sort_layers(boxes, layers)
    _place(boxes, layers)
    width = max((box.x + box.width / 2 for box in boxes), default=0.0) + _MARGIN
    height = max((box.y + box.height for box in boxes), default=0.0) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Graph with {len(graph.nodes)} nodes" '
        f'font-family="{_FONT}">',
        '<defs><marker id="dali-lab-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0.8 7.5 4 0 7.2z" fill="#7a8699"/></marker></defs>',
    ]
    parts += [_draw_line(line, boxes) for line in lines]
    parts += [_draw_box(box) for box in boxes if box.text is not None]
    return "\n".join([*parts, "</svg>", ""])


def image(drawing: str) -> str:
    """A drawing as an image in HTML, which notebooks show without trust: no script can run in it."""
    encoded = b64encode(drawing.encode()).decode()
    return f'<img alt="The graph" src="data:image/svg+xml;base64,{encoded}">'


def mimebundle(graph: Graph) -> dict[str, str]:
    """Representations of a graph for notebooks, by MIME type."""
    drawing = svg(graph)
    return {"image/svg+xml": drawing, "text/html": image(drawing)}


def _collect(graph: Graph, folds: Mapping[str, tuple[str, ...]]) -> tuple[list[_Box], list[_Line]]:
    """Boxes with their layers, and the lines between them, bent once in each layer that they cross."""
    names = list(graph.nodes)
    index = {name: number for number, name in enumerate(names)}
    boxes = [
        _node_box(fold_label(name, folds[name]) if name in folds else label(node)) for name, node in graph.nodes.items()
    ]
    wanted: list[tuple[int, int, str, bool]] = []
    for line in lines_of(graph):
        if isinstance(line.target, int):
            boxes.append(_Box(Label(f"output {line.target}", "", (), ""), 64.0, 18.0))
        target = index[line.target] if isinstance(line.target, str) else len(boxes) - 1
        wanted.append((index[line.source.node], target, line.text, line.dashed))
    _set_layers(boxes, wanted)
    lines = []
    for source, target, text, dashed in wanted:
        path = [source]
        for layer in range(boxes[source].layer + 1, boxes[target].layer):
            boxes.append(_Box(None, 8.0, 0.0, layer))
            path.append(len(boxes) - 1)
        path.append(target)
        if boxes[source].layer < boxes[target].layer:
            for first, second in pairwise(path):
                boxes[first].below.append(second)
                boxes[second].above.append(first)
        lines.append(_Line(path, text, dashed))
    return boxes, lines


def _node_box(text: Label) -> _Box:
    widest = max(len(text.title) * 7.4, len(text.subtitle) * 5.9, *(len(line) * 5.7 for line in text.lines), 84.0)
    return _Box(text, widest + 28.0, 40.0 + _LINE * len(text.lines))


def _set_layers(boxes: Sequence[_Box], edges: Sequence[tuple[int, int, str, bool]]) -> None:
    """Give each box the length of the longest path to it; edges that close a circle do not count."""
    incoming: list[list[int]] = [[] for _ in boxes]
    for source, target, *_ in edges:
        incoming[target].append(source)
    state = [0] * len(boxes)
    for root in range(len(boxes)):
        stack = [] if state[root] else [(root, iter(incoming[root]))]
        state[root] = state[root] or 1
        while stack:
            number, sources = stack[-1]
            for source in sources:
                if state[source] == 2:
                    boxes[number].layer = max(boxes[number].layer, boxes[source].layer + 1)
                elif state[source] == 0:
                    state[source] = 1
                    stack.append((source, iter(incoming[source])))
                    break
            else:
                stack.pop()
                state[number] = 2
                if stack:
                    parent = stack[-1][0]
                    boxes[parent].layer = max(boxes[parent].layer, boxes[number].layer + 1)
    # A node that only feeds one far below stands just above it, as random numbers beside the node they steer.
    outgoing: list[list[int]] = [[] for _ in boxes]
    for source, target, *_ in edges:
        outgoing[source].append(target)
    for number in sorted(range(len(boxes)), key=lambda n: -boxes[n].layer):
        if outgoing[number] and not incoming[number]:
            boxes[number].layer = max(boxes[number].layer, min(boxes[t].layer for t in outgoing[number]) - 1)


def _layers(boxes: Sequence[_Box]) -> list[list[int]]:
    layers: list[list[int]] = [[] for _ in range(max((box.layer for box in boxes), default=-1) + 1)]
    for number, box in enumerate(boxes):
        layers[box.layer].append(number)
    return layers


def _sort_layers(boxes: Sequence[_Box], layers: list[list[int]]) -> None:
    """Order each layer by the middle of the neighbours in the layer before, downwards and upwards in turn."""
    rank = {number: place for layer in layers for place, number in enumerate(layer)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            keys = {}
            for number in layer:
                near = sorted(rank[other] for other in (boxes[number].above if down else boxes[number].below))
                keys[number] = near[len(near) // 2] if near else rank[number]
            layer.sort(key=lambda number: keys[number])
            rank.update({number: place for place, number in enumerate(layer)})


def _place(boxes: Sequence[_Box], layers: Sequence[Sequence[int]]) -> None:
    top = _MARGIN
    for layer in layers:
        tallest = max(boxes[number].height for number in layer)
        edge = 0.0
        for number in layer:
            box = boxes[number]
            box.x = edge + box.width / 2
            box.y = top + (tallest - box.height) / 2
            edge += box.width + _GAP_X
        top += tallest + _GAP_Y
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _pull(boxes, layer, down)
    left = min((box.x - box.width / 2 for box in boxes), default=0.0)
    for box in boxes:
        box.x += _MARGIN - left


def _pull(boxes: Sequence[_Box], layer: Sequence[int], down: bool) -> None:
    """Move the boxes of a layer to the mean of their neighbours, as far as their order and the gaps allow."""
    wishes = []
    for number in layer:
        near = (boxes[number].above if down else boxes[number].below) or boxes[number].below or boxes[number].above
        wishes.append(sum(boxes[other].x for other in near) / len(near) if near else boxes[number].x)
    # Boxes that would overlap move as one group, to the mean of what its members wish (pool adjacent violators).
    groups: list[tuple[float, int]] = []
    offsets = []
    offset = 0.0
    for place, number in enumerate(layer):
        if place:
            offset += boxes[layer[place - 1]].width / 2 + _GAP_X + boxes[number].width / 2
        offsets.append(offset)
        mean, count = wishes[place] - offset, 1
        while groups and groups[-1][0] > mean:
            other, members = groups.pop()
            mean, count = (mean * count + other * members) / (count + members), count + members
        groups.append((mean, count))
    place = 0
    for mean, count in groups:
        for _ in range(count):
            boxes[layer[place]].x = mean + offsets[place]
            place += 1


def _draw_line(line: _Line, boxes: Sequence[_Box]) -> str:
    points = []
    for place, number in enumerate(line.path):
        box = boxes[number]
        points.append((box.x, box.y + box.height if place == 0 else box.y))
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        bend = max(14.0, (y1 - y0) / 2)
        path += f"C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}"
    dash = ' stroke-dasharray="4 3"' if line.dashed else ""
    parts = [
        f'<path d="{path}" fill="none" stroke="#7a8699" stroke-width="1.3"{dash} marker-end="url(#dali-lab-arrow)"/>'
    ]
    if line.text:
        parts.append(_draw_name(line.text, *points[-2:]))
    return "".join(parts)


def _draw_name(text: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """The label of a line, beside the lower part of its last bend, on the side that it bends to."""
    (x0, y0), (x1, y1) = start, end
    # The curve at two thirds of its way.
    x = (7 * x0 + 20 * x1) / 27
    y = (7 * y0 + 20 * y1 - 6 * max(14.0, (y1 - y0) / 2)) / 27
    width = _LETTER * len(text)
    left = x1 < x0 and x - _BESIDE - width > 0
    place = f'x="{x - _BESIDE:.1f}" y="{y:.1f}" text-anchor="end"' if left else f'x="{x + _BESIDE:.1f}" y="{y:.1f}"'
    return f'<text {place} font-size="10" fill="#7a8699">{_escaped(text)}</text>'


def _draw_box(box: _Box) -> str:
    assert box.text is not None
    left, text = box.x - box.width / 2, box.text
    if not text.colour:
        return (
            f'<text x="{box.x:.1f}" y="{box.y + 13:.1f}" font-size="11" fill="#7a8699" text-anchor="middle">'
            f"{_escaped(text.title)}</text>"
        )
    parts = [
        f'<g><rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6" '
        f'fill="#fbfcfe" stroke="#aab3c2"/>',
        f'<rect x="{left:.1f}" y="{box.y + 5:.1f}" width="4" height="{box.height - 10:.1f}" rx="2" '
        f'fill="{text.colour}"/>',
        f'<text x="{left + 14:.1f}" y="{box.y + 17:.1f}" font-size="12" font-weight="600" fill="#1d2430">'
        f"{_escaped(text.title)}</text>",
        f'<text x="{left + 14:.1f}" y="{box.y + 31:.1f}" font-size="10" fill="{text.colour}">'
        f"{_escaped(text.subtitle)}</text>",
    ]
    for number, line in enumerate(text.lines, 1):
        parts.append(
            f'<text x="{left + 14:.1f}" y="{box.y + 31 + _LINE * number:.1f}" font-size="10" fill="#4a5568">'
            f"{_escaped(line)}</text>"
        )
    return "".join([*parts, "</g>"])


def _escaped(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))
