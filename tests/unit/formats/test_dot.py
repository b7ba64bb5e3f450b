"""Pictures of graphs: well-formed, complete, and without overlaps."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings

import dali_lab
from dali_lab import fn
from dali_lab.errors import FormatError
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures import dot, drawing
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model.short_text import short
from tests.programs import LIMIT, run_python
from tests.unit.formats.strategies import graphs

SETTINGS = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
needs_dot = pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")


@dali_lab.pipeline_def(batch_size=2, num_threads=1, device_id=None)
def mirrored() -> object:
    images = fn.external_source(source=lambda: [np.zeros((4, 4, 3), np.uint8)] * 2, layout="HWC", name="images")
    choice = fn.external_source(source=lambda: [np.int32(1)] * 2, name="choice")
    return fn.flip(images, horizontal=choice, vertical=1, name="mirrored"), images


@SETTINGS
@given(graphs())
def test_any_graph_has_a_picture(graph: Graph) -> None:
    root = ElementTree.fromstring(drawing.svg(graph))
    assert len(root.findall(".//{*}g")) == len(graph.nodes)
    assert dot.dumps(graph).count(" [label=<") == len(graph.nodes)


@needs_dot
@settings(SETTINGS, max_examples=12)
@given(graphs())
@example(Graph({"]": Node("]", "unheard")}))
def test_graphviz_reads_what_we_write(graph: Graph) -> None:
    for show_tensors in (False, True):
        text = dot.dumps(graph, show_tensors=show_tensors)
        done = subprocess.run(
            ["dot", "-Tplain"], input=text.encode("utf-8", "replace"), capture_output=True, timeout=LIMIT
        )
        assert done.returncode == 0, done.stderr.decode()
        assert b"syntax" not in done.stderr


def test_the_picture_says_what_matters() -> None:
    for text in (dot.dumps(mirrored().graph), drawing.svg(mirrored().graph)):
        for words in ("mirrored", "flip · CPU", "vertical = 1", "horizontal", "output 0", "output 1"):
            assert words in text


def test_boxes_do_not_overlap() -> None:
    nodes = {f"n{i}": Node(f"n{i}", "flip", inputs=(Edge(f"n{(i - 1) // 3}"),) if i else ()) for i in range(60)}
    text = drawing.svg(Graph(nodes, (Edge("n59"), Edge("n3"))))
    boxes = [
        tuple(map(float, found))
        for found in re.findall(r'<g><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', text)
    ]
    assert len(boxes) == 60
    for i, (x, y, w, h) in enumerate(boxes):
        for x1, y1, w1, h1 in boxes[:i]:
            assert x + w <= x1 or x1 + w1 <= x or y + h <= y1 or y1 + h1 <= y


def test_circles_and_dead_ends_are_drawn() -> None:
    nodes = {
        "a": Node("a", "flip", inputs=(Edge("b"),)),
        "b": Node("b", "flip", inputs=(Edge("a"),)),
        "c": Node("c", "flip", inputs=(Edge("c"), Edge(""), Edge("gone"))),
    }
    ElementTree.fromstring(drawing.svg(Graph(nodes, (Edge("gone"), Edge("")))))


def test_a_large_graph_takes_a_moment() -> None:
    nodes = {f"n{i}": Node(f"n{i}", "flip", inputs=(Edge(f"n{i - 1}"), Edge(f"n{i // 2}"))) for i in range(300)}
    ElementTree.fromstring(drawing.svg(Graph(nodes)))


def test_files_by_their_ending(tmp_path: Path) -> None:
    dot.dump(mirrored().graph, tmp_path / "graph.dot", show_tensors=True)
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")
    dot.dump(mirrored().graph, tmp_path / "graph.svg")
    assert "<svg" in (tmp_path / "graph.svg").read_text()


@needs_dot
def test_png() -> None:
    assert dot.picture(mirrored().graph, "png").startswith(b"\x89PNG")


def test_png_without_graphviz_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FormatError, match="dot"):
        dot.picture(mirrored().graph, "png")


def test_notebooks_show_a_picture() -> None:
    bundle = mirrored().graph._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert "mirrored" in bundle["text/plain"]
    # Where a notebook is not trusted, and in Panel, too.
    assert bundle["text/html"].startswith('<img alt="The graph" src="data:image/svg+xml')
    assert mirrored()._repr_html_() == bundle["text/html"]
    assert "Pipeline" in dali_lab.Pipeline(2, 1, None)._repr_html_()


def test_importing_the_formats_needs_no_graphviz() -> None:
    code = "import dali_lab.formats.pictures.dot, sys; assert 'graphviz' not in sys.modules"
    run_python("-c", code)
    assert json_file.SCHEMA_FILE.exists()


def test_a_long_path_keeps_its_end() -> None:
    assert short("/home/somebody/projects/2026/pictures of owls") == "'/home/someb…ects/2026/pictures of owls'"
    assert short("x" * 38) == f"'{'x' * 38}'"
