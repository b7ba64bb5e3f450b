"""NVIDIA DALI's serialized form both ways: each package runs the other's files, with equal outputs."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dali_lab
from dali_lab import formats
from dali_lab.errors import FormatError
from dali_lab.formats.dali import writer as dali_proto
from dali_lab.formats.dali.arguments import shortest
from dali_lab.formats.dali.messages import messages
from dali_lab.formats.json import graph_file as json_file
from dali_lab.graph.difference import difference
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.verification import problems
from dali_lab.model.references import PythonReference
from dali_lab.studio.document.graph_document import checked
from dali_lab.studio.document.validation import check
from tests.unit.formats.strategies import finished_graphs

SETTINGS = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def narrowed(graph: Graph) -> Graph:
    """The graph with its numbers as 32-bit floats, which is what the serialized form holds."""

    def value(name: str, item: Any, node: Node) -> Any:
        if isinstance(item, float) and (node.op.startswith("math.") or not isinstance(item, bool)):
            return shortest(item)
        if isinstance(item, tuple):
            return tuple(value(name, each, node) for each in item)
        return item

    nodes = {
        name: node.replaced(arguments={key: value(key, item, node) for key, item in node.arguments.items()})
        for name, node in graph.nodes.items()
    }
    on_gpu = any(node.device != "cpu" for node in nodes.values())
    device = 0 if on_gpu and graph.pipeline.get("device_id") is None else graph.pipeline.get("device_id")
    return graph.replaced(nodes=nodes, pipeline={**graph.pipeline, "device_id": device})


@SETTINGS
@given(finished_graphs(beyond_dali=False))
def test_reading_what_was_written_gives_the_same_graph(graph: Graph) -> None:
    data = dali_proto.dumps(graph)
    back = dali_proto.loads(data)
    assert narrowed(back) == narrowed(graph)
    assert dali_proto.dumps(back) == data


@SETTINGS
@given(st.data())
def test_damaged_bytes_are_refused_or_read(data: st.DataObject) -> None:
    content = bytearray(dali_proto.dumps(pictures_graph(Path("/pictures"))))
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(content)))
        content[place : place + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=4))
    with contextlib.suppress(FormatError):
        graph = dali_proto.loads(bytes(content), friendly=data.draw(st.booleans()))
        problems(graph)


@SETTINGS
@given(st.binary(max_size=60))
def test_random_bytes_are_refused_or_read(content: bytes) -> None:
    with contextlib.suppress(FormatError):
        problems(dali_proto.loads(content))


def test_bad_bytes_say_what_is_wrong() -> None:
    whole = dali_proto.dumps(pictures_graph(Path("/pictures")))
    for content in (b"", b"not a pipeline at all", whole[:-7], b'{"format": "dali-lab/graph"}'):
        with pytest.raises(FormatError, match="serialized form"):
            dali_proto.loads(content)
    with pytest.raises(FormatError, match="bytes"):
        dali_proto.loads("text")  # type: ignore[arg-type]


def pictures_graph(folder: Path) -> Graph:
    nodes = [
        Node("reader", "readers.file", arguments={"file_root": str(folder), "random_shuffle": True, "initial_fill": 4}),
        Node("decoded", "decoders.image", inputs=(Edge("reader"),)),
        Node("size", "random.uniform", arguments={"range": (8.0, 14.0)}),
        Node("sized", "resize", inputs=(Edge("decoded"),), connections={"resize_shorter": Edge("size")}),
        Node("mirror", "random.coin_flip", arguments={"probability": 0.5}),
        Node("mirrored", "flip", inputs=(Edge("sized"),), connections={"horizontal": Edge("mirror")}),
        Node("half", "math.mul", inputs=(Edge("mirrored"),), arguments={"b": 0.1}),
        Node("shifted", "math.add", inputs=(Edge("half"), Edge("reader", 1))),
        Node(
            "part",
            "_tensor_subscript",
            inputs=(Edge("shifted"),),
            arguments={"lo_0": 1, "at_2": 0, "num_subscripts": 3},
        ),
    ]
    outputs = (Edge("part"), Edge("reader", 1), Edge("mirrored"), Edge("size"))
    return Graph({node.id: node for node in nodes}, outputs, {"batch_size": 3, "num_threads": 2, "seed": 17})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    for number in range(8):
        path = tmp_path / f"kind{number % 2}" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        cv2.imwrite(str(path), random.integers(0, 255, (12 + number, 20 - number, 3), np.uint8))
    return tmp_path


def batches(pipeline: Any, count: int = 4) -> list[list[np.ndarray]]:
    return [[np.array(out.as_cpu().at(i)) for out in pipeline.run() for i in range(len(out))] for _ in range(count)]


def assert_same(left: list[list[np.ndarray]], right: list[list[np.ndarray]], tolerance: float = 0) -> None:
    for row, other in zip(left, right, strict=True):
        for a, b in zip(row, other, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def pairs() -> tuple[list[int], list[int]]:
    """A source that can be imported by its name."""
    return [1], [2]


def test_nvidia_dali_runs_what_we_write(folder: Path) -> None:
    dali = pytest.importorskip("nvidia.dali")
    graph = pictures_graph(folder)
    ours = dali_lab.Pipeline.from_graph(graph, device_id=None)
    theirs = dali.Pipeline.deserialize(ours.serialize())
    assert theirs.max_batch_size == 3
    assert theirs.seed == 17
    # The product with 0.1 is rounded once here and fused with the sum there.
    assert_same(batches(ours), batches(theirs), 1e-6)


def test_we_run_what_nvidia_dali_writes(folder: Path) -> None:
    pytest.importorskip("nvidia.dali")
    from nvidia.dali import Pipeline, fn, math, types

    pipeline = Pipeline(3, 2, None, seed=5, prefetch_queue_depth=3)
    with pipeline:
        encoded, labels = fn.readers.file(file_root=str(folder), random_shuffle=True, name="Reader")
        images = fn.decoders.image(encoded, output_type=types.GRAY)
        sized = fn.resize(images, size=[9, 11], interp_type=types.INTERP_LINEAR)
        mirrored = fn.flip(sized, horizontal=fn.random.coin_flip())
        expression = math.clamp(mirrored * 2, 30, 200.0) - labels[0]
        pipeline.set_outputs(
            expression,
            mirrored[1:3],
            types.Constant([1.5, 2.5]),
            -labels,
        )
    pipeline.build()
    data = pipeline.serialize()
    ours = dali_lab.Pipeline.deserialize(data)
    assert ours.prefetch_queue_depth == 3
    assert list(ours.reader_meta()) == ["Reader"]
    assert_same(batches(ours), batches(pipeline))
    again = Pipeline.deserialize(dali_proto.dumps(dali_proto.loads(data)))
    assert_same(batches(again), batches(dali_lab.Pipeline.deserialize(data)))
    assert "coin_flip" in dali_proto.loads(data, friendly=True).nodes
    assert "Reader" in dali_proto.loads(data, friendly=True).nodes
    assert dali_proto.loads(data)["Reader"].origin.startswith(__file__)


def test_names_of_older_releases_are_read_as_their_successors(folder: Path) -> None:
    from nvidia.dali import fn, pipeline_def

    def old() -> Any:
        encoded, _ = fn.file_reader(file_root=str(folder))
        images = fn.image_decoder(encoded)
        smaller = fn.fast_resize_crop_mirror(images, resize_shorter=12, crop=(9, 9), mirror=fn.coin_flip())
        return smaller, fn.experimental.equalize(images), fn.uniform(range=[3.0, 9.0])

    with pytest.warns(DeprecationWarning, match="is now deprecated"):
        pipeline = pipeline_def(old)(batch_size=3, num_threads=2, device_id=None, seed=5)
    data = pipeline.serialize()
    graph = dali_proto.loads(data)
    assert [node.op for node in graph.nodes.values()] == [
        "readers.file", "decoders.image", "random.coin_flip", "resize_crop_mirror", "equalize", "random.uniform",
    ]  # fmt: skip
    assert graph == dali_proto.loads(dali_proto.dumps(graph))
    assert_same(batches(dali_lab.Pipeline.deserialize(data)), batches(pipeline))


def test_names_that_are_no_text_are_refused() -> None:
    data = dali_proto.dumps(pictures_graph(Path("/pictures")))
    for name in (b"decoded", b"file_root", b"angle"):
        with contextlib.suppress(FormatError):
            problems(dali_proto.loads(data.replace(name, b"\xff" * len(name))))
    with pytest.raises(FormatError, match="is not text"):
        dali_proto.loads(data.replace(b"decoded", b"\xff" * 7))


def test_files(folder: Path, tmp_path: Path) -> None:
    pipeline = dali_lab.Pipeline.from_graph(pictures_graph(folder), device_id=None)
    path = tmp_path / "pipeline.dali"
    data = pipeline.serialize(filename=str(path))
    assert path.read_bytes() == data
    back = dali_lab.Pipeline.deserialize(filename=str(path), batch_size=2)
    assert back.max_batch_size == 2
    with pytest.raises(FormatError, match="missing"):
        formats.load(tmp_path / "missing")


def test_unknown_operators_and_arguments_are_kept() -> None:
    message = messages().PipelineDef(batch_size=4)
    operator = message.op.add(name="some__FutureThing", inst_name="future")
    operator.output.add(name="future[0]", device="cpu")
    operator.output.add(name="future[1]", device="cpu")
    for name, kind, field, items in (
        ("ints", "int64", "ints", [7]),
        ("reals", "float", "floats", [0.5]),
        ("text", "string", "strings", [b"\xff text"]),
    ):
        argument = operator.args.add(name=name, type=kind)
        getattr(argument, field).extend(items)
    known = message.op.add(name="Flip", inst_name="flipped")
    known.input.add(name="future[1]", device="cpu")
    known.output.add(name="flipped", device="cpu")
    argument = known.args.add(name="new_argument", type="bool", is_vector=True)
    argument.extra_args.add(name="element 0", type="bool", bools=[True])
    message.pipe_outputs.add(name="flipped", device="gpu")
    graph = dali_proto.loads(message.SerializeToString())
    assert graph["future"].op == "some__FutureThing"
    assert graph["flipped"].inputs == (Edge("future", 1),)
    assert graph["flipped"].arguments == {"new_argument": (True,)}
    assert graph.outputs == (Edge("flipped", 0, "gpu"),)
    assert any("some__FutureThing" in problem.message for problem in problems(graph))
    back = messages().PipelineDef.FromString(dali_proto.dumps(graph))
    assert [item.name for item in back.op] == ["some__FutureThing", "Flip"]
    kept = {item.name: item for item in back.op[0].args}
    assert kept["text"].strings[0] == b"\xff text"
    assert kept["ints"].ints[0] == 7
    assert dali_proto.loads(dali_proto.dumps(graph)) == graph


class Trap:
    """Says so when it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("it was unpickled",)


def test_pickled_functions_stay_pickled_and_need_a_name() -> None:
    content = pickle.dumps(Trap())
    pipeline = messages().PipelineDef(batch_size=1)
    for op, name in (("PythonFunction", "function"), ("MadeUp", "callback")):
        operator = pipeline.op.add(name=op, inst_name=op)
        operator.output.add(name=op, device="cpu")
        operator.args.add(name=name, type="string", is_vector=False).strings.append(content)
    pipeline.pipe_outputs.add(name="PythonFunction", device="cpu")
    graph = dali_proto.loads(pipeline.SerializeToString())
    value = graph["PythonFunction"].arguments["function"]
    assert isinstance(value, PythonReference)
    assert value.name is None
    found = check(checked(json_file.to_document(graph))).problems
    assert any("needs" in problem.message or "name" in problem.message for problem in found if problem.argument)
    for again in (graph, json_file.loads(json_file.dumps(graph))):
        back = messages().PipelineDef.FromString(dali_proto.dumps(again))
        assert {arg.strings[0] for op in back.op for arg in op.args if arg.name in ("function", "callback")} == {
            content
        }


def test_the_older_form() -> None:
    message = messages().PipelineDef(batch_size=2, external_inputs=["data"])
    operator = message.op.add(name="Flip")
    operator.input.add(name="data", device="cpu")
    operator.output.add(name="flipped", device="cpu")
    copy = message.op.add(name="MakeContiguous", inst_name="contiguous")
    copy.input.add(name="flipped", device="cpu")
    copy.output.add(name="contiguous_flipped", device="cpu")
    message.pipe_outputs.add(name="contiguous_flipped", device="cpu")
    graph = dali_proto.loads(message.SerializeToString())
    assert list(graph.nodes) == ["data", "flipped"]
    assert graph["flipped"].inputs == (Edge("data"),)
    assert graph.outputs == (Edge("flipped"),)
    assert graph.pipeline == {"batch_size": 2, "num_threads": 4, "device_id": 0}


def test_nested_expressions_become_nodes() -> None:
    message = messages().PipelineDef(batch_size=2)
    source = message.op.add(name="ExternalSource", inst_name="x")
    source.output.add(name="x", device="cpu")
    operator = message.op.add(name="_ArithmeticGenericOp", inst_name="y")
    operator.input.add(name="x", device="cpu")
    operator.output.add(name="y", device="cpu")
    operator.args.add(name="expression_desc", type="string", strings=[b"add(mul(&0 $0:float32) minus(&0))"])
    constants = operator.args.add(name="real_constants", type="float", is_vector=True)
    constants.extra_args.add(name="element 0", type="float", floats=[0.1])
    message.pipe_outputs.add(name="y", device="cpu")
    graph = dali_proto.loads(message.SerializeToString())
    assert graph["y_mul"].arguments == {"b": 0.1}
    assert graph["y"].inputs == (Edge("y_mul"), Edge("y_minus"))


def test_what_nvidia_dali_does_not_hold_travels_along() -> None:
    nodes = {
        "pair": Node("pair", "external_source", arguments={"source": pairs, "num_outputs": 2, "layout": ("HWC", "")}),
        "turned": Node("turned", "flip", inputs=(Edge("pair", 1),)),
    }
    view = {"nodes": {"turned": {"x": 1.5, "y": 2}}, "notes": [{"id": "n", "text": "hello"}]}
    graph = Graph(nodes, (Edge("turned"), Edge("pair")), {"batch_size": 1, "num_threads": 1}, view)
    back = dali_proto.loads(dali_proto.dumps(graph))
    assert set(back.nodes) == {"pair", "turned"}
    assert back["turned"] == graph["turned"]
    assert back["pair"].arguments["source"].name == f"{__name__}:pairs"
    assert back["pair"].arguments["layout"] == ("HWC", "")
    assert back.view["nodes"] == view["nodes"]


def test_outputs_of_a_source_are_not_taken_for_nodes_with_such_names() -> None:
    nodes = {
        "images": Node(
            "images", "external_source", arguments={"source": PythonReference("feeding:pairs"), "num_outputs": 3}
        ),
        "images_2": Node("images_2", "flip", inputs=(Edge("images"),)),
        "images_output_1": Node("images_output_1", "flip", inputs=(Edge("images_2"),)),
    }
    graph = Graph(nodes, (Edge("images_output_1"), Edge("images", 2)), {"batch_size": 1, "num_threads": 1})
    data = dali_proto.dumps(graph)
    assert dali_proto.loads(data) == graph
    names = [operator.inst_name for operator in messages().PipelineDef.FromString(data).op]
    assert len(set(names)) == 5


def test_a_source_with_several_outputs_comes_back_from_a_serialized_pipeline() -> None:
    pipeline = dali_lab.Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipeline:
        images, labels = dali_lab.fn.external_source(source=pairs, num_outputs=2)
        images = dali_lab.fn.flip(images)
        pipeline.set_outputs(images, labels)
    back = dali_proto.loads(pipeline.serialize())
    assert list(back.nodes) == list(pipeline.graph.nodes)
    assert back.outputs == pipeline.graph.outputs


def test_numbers_that_are_one_in_single_precision_say_the_same() -> None:
    def graph(**arguments: Any) -> Graph:
        node = Node("y", "crop_mirror_normalize", "cpu", (Edge("x"),), arguments)
        return Graph({"x": Node("x", "external_source"), "y": node}, (Edge("y"),), {"batch_size": 1, "num_threads": 2})

    written = graph(std=(0.229 * 255, 0.224 * 255, 0.225 * 255), mean=(1 / 3,), scale=1.0 + 1e-12)
    back = dali_proto.loads(dali_proto.dumps(written))
    assert back == written and not difference(written, back)
    assert graph(scale=2.0) != graph(scale=2.0 + 1e-6)
    assert graph(scale=1e300) == graph(scale=float("inf"))


def test_settings_survive() -> None:
    node = {"x": Node("x", "external_source")}
    for pipeline in (
        {"prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 2}},
        {"exec_async": False, "exec_pipelined": False},
        {"exec_dynamic": False, "seed": 3},
        {"enable_checkpointing": True, "prefetch_queue_depth": 5, "device_id": 1},
    ):
        graph = Graph(node, (Edge("x"),), {"batch_size": 2, "num_threads": 3, **pipeline})
        assert dict(dali_proto.loads(dali_proto.dumps(graph)).pipeline) == dict(graph.pipeline)
