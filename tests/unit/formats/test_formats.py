"""One door to all forms: by ending, by content, by name; pictures with a graph inside; torchvision; differences."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import xml.dom.minidom
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dali_lab import Pipeline, formats, types
from dali_lab.checking import check
from dali_lab.errors import FormatError
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures import png, report
from dali_lab.gallery import load_gallery
from dali_lab.graph.difference import difference
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.packing import pack
from dali_lab.schema.everyday import names_in
from tests.unit.formats.strategies import graphs
from tests.unit.formats.test_python_code import example

SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("ending", [".dali.json", ".json", ".dali", ".py", ".png", ".html"])
def test_what_was_dumped_is_loaded(ending: str, tmp_path: Path) -> None:
    if ending == ".png":
        pytest.importorskip("graphviz")
        import shutil

        if not shutil.which("dot"):
            pytest.skip("Graphviz is not installed")
    path = tmp_path / f"graph{ending}"
    formats.dump(example(), path)
    back = formats.load(path, trust=True)
    assert back.nodes == example().nodes
    assert back.outputs == example().outputs


def test_the_serialized_form_tells_that_nvidia_dali_takes_no_python_functions() -> None:
    read = Node("read", "readers.file", arguments={"file_root": "pictures"})
    size = Node("size", "python_function", inputs=(Edge("read"),), arguments={"function": len})
    graph = Graph({"read": read, "size": size}, outputs=(Edge("size"),))
    assert formats.lost(graph, "dali-serialized")[-1].endswith("it cannot hold Python functions: size")
    assert formats.lost(graph, "nvidia-python") == []


@pytest.mark.parametrize("to", ["json", "dali-serialized", "python", "nvidia-python", "pytorch", "ray", "dot", "svg"])
def test_every_form_can_be_named(to: str, tmp_path: Path) -> None:
    path = tmp_path / "without_ending"
    formats.dump(example(), path, to)
    assert path.stat().st_size > 100


def test_the_content_tells_the_form_and_not_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    for to in ("json", "dali-serialized", "python"):
        formats.dump(example(), path, to)
        assert set(formats.load(path).nodes) == set(example().nodes)


def test_a_pipeline_in_place_of_its_graph_is_told_so(tmp_path: Path) -> None:
    pipe: Any = Pipeline(1, 1, None)
    for use in (
        lambda: formats.dump(pipe, tmp_path / "a.dali.json"),
        lambda: formats.dumps(pipe, "python"),
        lambda: check(pipe),
        lambda: pack(pipe, tmp_path / "packed"),
    ):
        with pytest.raises(TypeError, match=r"takes a graph, got Pipeline; give the pipeline's graph: pipe\.graph"):
            use()
    with pytest.raises(TypeError, match=r"takes a graph, got str$"):
        check("training.dali.json")  # type: ignore[arg-type]


def test_unknown_forms_say_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="did you mean 'python'"):
        formats.dumps(example(), "pyton")
    with pytest.raises(FormatError, match=r"'graph\.xyz' stands for no form"):
        formats.dump(example(), tmp_path / "graph.xyz")
    with pytest.raises(FormatError, match="empty"):
        formats.loads(b" \n")


@SETTINGS
@given(st.binary(max_size=80))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    for head in (b"", png.SIGNATURE, b"{", b"from dali_lab import fn\n"):
        with contextlib.suppress(FormatError):
            formats.loads(head + data)


def picture() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.zeros((4, 6, 3), np.uint8)).save(file, "PNG")
    return file.getvalue()


@SETTINGS
@given(graphs(), st.data())
def test_a_picture_carries_its_graph(graph: Graph, data: st.DataObject) -> None:
    content = png.embed(png.embed(picture(), example()), graph)
    assert png.loads(content) == graph
    damaged = bytearray(content)
    place = data.draw(st.integers(0, len(content)))
    damaged[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    with contextlib.suppress(FormatError):
        png.loads(bytes(damaged))


def test_the_picture_is_still_one_and_its_text_is_readable_elsewhere() -> None:
    from PIL import Image

    image = Image.open(io.BytesIO(png.embed(picture(), example())))
    image.load()
    assert image.size == (6, 4)
    assert json_file.loads(image.text["dali-lab-graph"]) == json_file.loads(json_file.dumps(example()))


def test_uncompressed_text_and_none_at_all() -> None:
    content = b"dali-lab-graph\0\0\0\0\0" + json_file.dumps(example()).encode()
    whole = picture()
    with_text = whole[:-12] + png._chunk(b"iTXt", content) + whole[-12:]
    assert set(png.loads(with_text).nodes) == set(example().nodes)
    for data, words in ((whole, "no graph inside"), (with_text[:-90], "cut off"), (b"GIF", "not a PNG")):
        with pytest.raises(FormatError, match=words):
            png.loads(data)


@settings(SETTINGS, max_examples=25)
@given(graphs(), st.text(max_size=8))
def test_a_report_is_xml_and_carries_its_graph(graph: Graph, title: str) -> None:
    shown = {name: report.Shown(title, [("image/png", picture(), 6, 4)], [title], 1.0, title) for name in graph.nodes}
    content = report.page(graph, title, shown).encode("utf-8", "replace")
    assert report.loads(content) == graph
    assert xml.dom.minidom.parseString(content).getElementsByTagName("img").length == len(graph.nodes)


def test_a_page_without_a_graph_says_so() -> None:
    content = report.page(example()).encode()
    for data in (b"<html></html>", content[:500]):
        with pytest.raises(FormatError, match="no graph inside"):
            report.loads(data)


def test_differences_name_what_changed() -> None:
    before = example()
    part = before["part"].replaced(arguments={**before["part"].arguments, "hi_0": 2})
    after = before.with_node(part).with_node(Node("new", "flip", inputs=(Edge("part"),))).without(["max"])
    after = after.with_node(after["my flip"].replaced(inputs=(Edge("new"),), device="gpu"))
    after = after.replaced(outputs=(Edge("my flip"),), pipeline={"batch_size": 4, "seed": 7})
    assert list(map(str, difference(before, after))) == [
        "- max (flip)",
        "+ new (flip of part)",
        "~ part: hi_0: 3 → 2",
        "~ my flip: device: cpu → gpu",
        "~ my flip: input 0: part → new",
        "~ outputs: my flip, max@gpu → my flip",
        "~ pipeline batch_size: 2 → 4",
    ]


def test_positions_are_no_difference_and_names_are_one() -> None:
    graph = example()
    assert difference(graph, graph.replaced(view={"nodes": {"max": {"x": 1}}})) == []
    text = json_file.dumps(graph).replace('"images', '"pictures').replace('"max', '"largest')
    renamed = formats.trusting(json_file.loads(text))
    assert list(map(str, difference(graph, renamed))) == [
        "~ images is now called pictures",
        "~ max is now called largest",
    ]


@SETTINGS
@given(graphs(), graphs())
def test_equal_graphs_and_only_they_have_no_difference(left: Graph, right: Graph) -> None:
    assert difference(left, left) == []
    assert (difference(left, right) == []) == (left == right)
    list(map(str, difference(left, right)))


def chain(*nodes: Node) -> Graph:
    return Graph({node.id: node for node in nodes}, (Edge(nodes[-1].id),), {"batch_size": 1})


def test_torchvision_has_the_same_transforms() -> None:
    torchvision_graph = chain(
        Node("reader", "readers.file", arguments={"file_root": "/pictures"}),
        Node("decoded", "decoders.image", inputs=(Edge("reader"),)),
        Node("sized", "resize", inputs=(Edge("decoded"),), arguments={"resize_shorter": 256.0}),
        Node("mirror", "random.coin_flip", arguments={"probability": 0.3}),
        Node(
            "normal",
            "crop_mirror_normalize",
            inputs=(Edge("sized"),),
            arguments={"crop": (224.0, 224.0), "mean": (10.0, 20.0, 30.0), "std": (2.0,), "dtype": types.FLOAT},
            connections={"mirror": Edge("mirror")},
        ),
    )
    code = formats.dumps(torchvision_graph, "torchvision").decode()
    for words in (
        "v2.Resize(256, interpolation=v2.InterpolationMode.BILINEAR, antialias=True)",
        "v2.CenterCrop([224, 224])",
        "v2.RandomHorizontalFlip(p=0.3)",
        "v2.ToDtype(torch.float32)",
        "v2.Normalize(mean=[10, 20, 30], std=[2])",
        'ROOT = "/pictures"\nBATCH_SIZE = 1\nSEED = 0\n',
        "datasets.ImageFolder(ROOT, transform=transform)",
    ):
        assert words in code
    import black

    assert black.format_str(code, mode=black.Mode()) == code


def test_what_torchvision_lacks_is_listed() -> None:
    graph = chain(
        Node("x", "external_source"),
        Node("noisy", "noise.shot", inputs=(Edge("x"),)),
        Node("turned", "flip", inputs=(Edge("noisy"),), arguments={"depthwise": 1}),
    )
    with pytest.raises(
        FormatError, match=r"noisy \(noise.shot\): torchvision has no such(.|\n)*turned \(flip\):(.|\n)*depthwise"
    ):
        formats.dumps(graph, "torchvision")


def test_random_arguments_and_conditions_have_equivalents() -> None:
    draws = {"sigma": (0.5, 2.0), "contrast": (0.6, 1.4)}
    nodes = [Node(name, "random.uniform", arguments={"range": ends}) for name, ends in draws.items()]
    graph = chain(
        *nodes,
        Node("coin", "random.coin_flip", arguments={"probability": 0.3}),
        Node("reader", "readers.file", arguments={"file_root": "/pictures"}),
        Node("x", "decoders.image", inputs=(Edge("reader"),)),
        Node("split", "_conditional.split", inputs=(Edge("x"),), connections={"predicate": Edge("coin")}),
        Node("soft", "gaussian_blur", inputs=(Edge("split"),), connections={"sigma": Edge("sigma")}),
        Node(
            "either",
            "_conditional.merge",
            inputs=(Edge("soft"), Edge("split", 1)),
            connections={"predicate": Edge("coin")},
        ),
        Node("y", "contrast", inputs=(Edge("either"),), connections={"contrast": Edge("contrast")}),
    )
    for library, words in {
        "torchvision": (
            "v2.RandomApply([v2.GaussianBlur([13, 13], sigma=(0.5, 2))], p=0.3)",
            "v2.ColorJitter(contrast=(0.6, 1.4))",
            "# Not quite as in DALI: y: contrast turns about the mean of the grey picture",
        ),
        "albumentations": (
            "A.Sequential(",
            "[A.GaussianBlur(blur_limit=(13, 13), sigma_limit=(0.5, 2), p=1.0)], p=0.3",
            "contrast=(0.6, 1.4)",
        ),
    }.items():
        code = formats.dumps(graph, library).decode()
        for part in words:
            assert part in code
        ast.parse(code)
    with pytest.raises(FormatError, match=r"either \(_conditional.merge\): Keras does every step"):
        formats.dumps(graph, "keras")


@pytest.mark.parametrize("library", ["torchvision", "albumentations", "keras"])
def test_classes_of_other_libraries_are_those_of_the_table_of_names(library: str) -> None:
    """The documentation and the search know every class that an export writes for an operator of the gallery."""
    written = set()
    for entry in load_gallery():
        with contextlib.suppress(FormatError):
            written |= set(re.findall(r"\b(?:v2|A|layers)\.([A-Z]\w+)", formats.dumps(entry.graph, library).decode()))
    assert len(written) > 15
    assert written - COMMON - set(names_in(library)) == set()


@pytest.mark.parametrize("library", ["torchvision", "albumentations", "keras"])
def test_light_of_floats_is_refused(library: str) -> None:
    """White is 255 there in DALI and 1 in other libraries."""
    graph = chain(
        Node("x", "external_source", arguments={"layout": ("HWC",)}),
        Node("floats", "cast", inputs=(Edge("x"),), arguments={"dtype": types.FLOAT}),
        Node("y", "brightness", inputs=(Edge("floats"),), arguments={"brightness": 1.2}),
    )
    with pytest.raises(FormatError, match="put the cast behind it"):
        formats.dumps(graph, library)


COMMON = {
    "Compose", "Identity", "InterpolationMode", "Lambda", "Layer", "OneOf", "Pipeline", "RandomChoice", "ReLU",
    "ToImage",
}  # fmt: skip
