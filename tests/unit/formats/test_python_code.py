"""Exported programs trace back to the same graph, are left as they are by black and ruff, and run by themselves."""

from __future__ import annotations

import importlib.util
import linecache
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import dali_lab
from dali_lab import fn, formats, types
from dali_lab.errors import FormatError
from dali_lab.formats.python import reader as python_static
from dali_lab.formats.python import writer as python_code
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model.references import PythonReference
from tests.programs import run_python
from tests.unit.formats.strategies import IDENTIFIERS, finished_graphs

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

ROOT = str(Path(dali_lab.__file__).parents[1])


def traced(code: str, name: str = "pipeline") -> Graph:
    """Run a program and trace its pipeline."""
    space: dict[str, Any] = {"__name__": "exported"}
    # Conditions are rewritten from the source, which is looked up by the file's name.
    file = f"<exported {len(linecache.cache)}>"
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    exec(compile(code, file, "exec"), space)
    return space[name]().graph


def batches() -> list[np.ndarray]:
    """A source that can be imported by its name."""
    return [np.arange(27, dtype=np.uint8).reshape(3, 3, 3)] * 2


@SETTINGS
@given(finished_graphs())
def test_tracing_the_program_gives_the_same_graph(graph: Graph) -> None:
    code = python_code.dumps(graph)
    assert traced(code) == graph, code


@SETTINGS
@given(finished_graphs(names=IDENTIFIERS))
def test_black_and_ruff_leave_it_as_it_is(graph: Graph) -> None:
    import black

    for dialect in python_code.DIALECTS:
        try:
            code = python_code.dumps(graph, dialect, main="pytorch")
        except FormatError:
            continue
        assert black.format_str(code, mode=black.Mode()) == code
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff:
        done = subprocess.run([ruff, "format", "-", "--isolated"], input=code.encode(), capture_output=True, check=True)
        assert done.stdout.decode() == code


def flags() -> list[np.ndarray]:
    """One number for each sample."""
    return [np.int32(1), np.int32(0)]


def example() -> Graph:
    nodes = [
        Node("images", "external_source", arguments={"source": batches, "layout": ("HWC",)}),
        Node("chance", "external_source", arguments={"source": flags}),
        Node("mul", "math.mul", inputs=(Edge("images"),), arguments={"b": 0.5}),
        Node("brighter", "math.add", inputs=(Edge("mul"),), arguments={"b": 10}),
        Node(
            "part",
            "_tensor_subscript",
            inputs=(Edge("brighter"),),
            arguments={"lo_0": 1, "hi_0": 3, "num_subscripts": 2},
        ),
        Node("my flip", "flip", inputs=(Edge("part"),), arguments={"vertical": 1, "horizontal": 1}),
        Node("max", "flip", inputs=(Edge("images"),), connections={"horizontal": Edge("chance")}),
    ]
    return Graph(
        {node.id: node for node in nodes}, (Edge("my flip"), Edge("max", 0, "gpu")), {"batch_size": 2, "seed": 7}
    )


def test_it_reads_as_a_person_would_write_it() -> None:
    assert (
        python_code.dumps(example())
        == '''\
from dali_lab import fn, pipeline_def
from tests.unit.formats.test_python_code import batches, flags

BATCH_SIZE = 2
SEED = 7


@pipeline_def(batch_size=BATCH_SIZE, num_threads=2, seed=SEED)
def pipeline():
    """Yield batches of my_flip and max."""
    images = fn.external_source(source=batches, layout="HWC")
    chance = fn.external_source(source=flags)
    brighter = images * 0.5 + 10
    part = brighter[1:3, :]
    my_flip = fn.flip(part, vertical=1, name="my flip")
    max_ = fn.flip(images, horizontal=chance)
    return my_flip, max_.gpu()


def main():
    """Run 3 batches and print the shapes in them."""
    pipe = pipeline()
    for batch in range(3):
        my_flip, max_ = pipe.run()
        print(batch, "my_flip", my_flip.shape())
        print(batch, "max", max_.shape())


if __name__ == "__main__":
    main()
'''
    )


def test_notes_become_the_docstring() -> None:
    graph = example().replaced(view={"notes": [{"id": "1", "text": 'For "fine" grain.\n\n' + "long " * 30 + "\\"}]})
    code = python_code.dumps(graph, main="none")
    assert '    For "fine" grain.\n' in code
    assert traced(code) == traced(python_code.dumps(graph.replaced(view={})))


def test_a_program_runs_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    formats.dump(example().replaced(outputs=(Edge("my flip"),)), path)
    done = run_python(path, PYTHONPATH=ROOT)
    assert done.stdout.splitlines()[0] == "0 my_flip [(2, 3, 3), (2, 3, 3)]"


def outputs_of(code: str, tmp_path: Path, name: str = "pipeline") -> list[list[np.ndarray]]:
    """Two batches of a program's outputs, computed in a process of their own."""
    path = tmp_path / "run.py"
    path.write_text(
        f"{code.split('def main()')[0]}\n\nimport pickle, sys\nimport numpy as np\npipe = {name}()\npipe.build()\n"
        "rows = [[np.array(o.as_cpu().at(i)) for o in pipe.run() for i in range(len(o))] for _ in range(2)]\n"
        "pickle.dump(rows, open(sys.argv[1], 'wb'))\n"
    )
    run_python(path, tmp_path / "rows", PYTHONPATH=ROOT)
    return pickle.loads((tmp_path / "rows").read_bytes())


def test_nvidia_dali_runs_its_dialect_with_equal_outputs(tmp_path: Path) -> None:
    pytest.importorskip("nvidia.dali")
    nodes = [
        *example().nodes.values(),
        Node(
            "sum",
            "math.sub",
            inputs=(Edge("my flip"),),
            arguments={"a": types.Constant(3, types.UINT8).value, "a_dtype": types.UINT8},
        ),
        Node("less", "math.lt", inputs=(Edge("max"),), arguments={"a": 5}),
        Node("root", "math.sqrt", inputs=(Edge("max"),)),
        Node("strange name", "math.clamp", inputs=(Edge("root"), Edge("max")), arguments={"b": 1}),
        Node("pow", "math.pow", inputs=(Edge("root"),), arguments={"b": 2}),
    ]
    outputs = tuple(Edge(name) for name in ("my flip", "sum", "less", "strange name", "pow"))
    graph = Graph({node.id: node for node in nodes}, outputs, {"batch_size": 2, "num_threads": 1, "seed": 3})
    theirs = outputs_of(python_code.dumps(graph, "nvidia.dali"), tmp_path)
    ours = outputs_of(python_code.dumps(graph), tmp_path)
    for left, right in zip(theirs, ours, strict=True):
        for a, b in zip(left, right, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


@dali_lab.pipeline_def(batch_size=2, num_threads=1, device_id=None, enable_conditionals=True)
def decided() -> Any:
    """A pipeline with a condition for each sample."""
    images = fn.external_source(source=batches, layout="HWC")
    flag = fn.external_source(source=flags) > 0
    if flag and not images.shape()[0] > 100:
        result = fn.flip(images)
    else:
        result = fn.flip(images, vertical=1)
    return result


@dali_lab.pipeline_def(batch_size=2, num_threads=1, device_id=None, enable_conditionals=True, seed=8)
def decided_deeply() -> Any:
    """Conditions inside conditions."""
    images = fn.external_source(source=batches, layout="HWC")
    kind = fn.random.uniform(values=[0, 1, 2])
    chosen = fn.random.coin_flip(dtype=types.BOOL)
    if kind == 0:
        out = fn.flip(images)
    elif kind == 1:
        out = fn.rotate(images, angle=fn.random.uniform(range=[-5, 5]), keep_size=True)
        if chosen:
            out = out * 0.5
            out = fn.cast_like(out, images)
    else:
        out = images
    if chosen or kind == 2:
        extra = out + 1
    else:
        extra = out + 2
    flag = chosen and (kind > 0 or not chosen)
    return out, extra, flag


def test_conditions_are_written_as_conditions() -> None:
    code = python_code.dumps(decided_deeply().graph, main="none")
    assert (
        code.split('"""\n')[1]
        == """\
    images = fn.external_source(source=batches, layout="HWC")
    kind = fn.random.uniform(values=[0, 1, 2])
    chosen = fn.random.coin_flip(dtype=types.BOOL)
    uniform = fn.random.uniform(range=[-5, 5])
    if kind == 0:
        out = fn.flip(images)
    elif kind == 1:
        out_2 = fn.rotate(images, angle=uniform, keep_size=True)
        if chosen:
            out_3 = out_2 * 0.5
            out = fn.cast_like(out_3, images)
        else:
            out = out_2
    else:
        out = images
    if chosen or kind == 2:
        extra = out + 1
    else:
        extra = out + 2
    flag = chosen and (kind > 0 or not chosen)
    return out, extra, flag
"""
    )
    assert "enable_conditionals=True" in code
    assert "if flag and not images.shape()[0] > 100:\n" in python_code.dumps(decided().graph)


@pytest.mark.parametrize("define", [decided, decided_deeply])
def test_conditions_come_back_and_run_alike(define: Any, tmp_path: Path) -> None:
    import black

    graph = define().graph
    code = python_code.dumps(graph)
    assert traced(code) == graph
    assert python_static.read(code).nodes.keys() == graph.nodes.keys()
    assert black.format_str(code, mode=black.Mode()) == code
    ours = outputs_of(code, tmp_path)
    if importlib.util.find_spec("nvidia.dali"):
        theirs = outputs_of(python_code.dumps(graph, "nvidia.dali"), tmp_path)
        assert all(
            np.array_equal(a, b)
            for left, right in zip(theirs, ours, strict=True)
            for a, b in zip(left, right, strict=True)
        )


def test_conditions_that_no_if_says_are_calls() -> None:
    graph = decided().graph
    renamed = {"split": "kept"}
    nodes = {}
    for name, node in graph.nodes.items():
        edges = tuple(edge._replace(node=renamed.get(edge.node, edge.node)) for edge in node.inputs)
        new = renamed.get(name, name)
        nodes[new] = node.replaced(id=new, inputs=edges)
    other = graph.replaced(nodes=nodes, outputs=(*graph.outputs, Edge("validate_logical_2")))
    code = python_code.dumps(other)
    assert "fn._conditional.split" in code
    assert traced(code) == other


def test_notebooks_show_pipelines_and_dot_files_are_written(tmp_path: Path) -> None:
    pipeline = decided()
    assert pipeline._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    assert "Pipeline" in dali_lab.Pipeline(2, 1, None)._repr_mimebundle_()["text/plain"]
    pipeline.save_graph_to_dot_file(str(tmp_path / "graph.dot"), show_tensors=True, use_colors=True)
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")
    with pytest.warns(DeprecationWarning, match="show_ids"):
        pipeline.save_graph_to_dot_file(str(tmp_path / "graph.dot"), show_ids=True)


def test_many_outputs_and_empty_lists() -> None:
    node = Node("parts", "external_source", arguments={"source": batches, "num_outputs": 5, "layout": ()})
    graph = Graph({"parts": node}, (Edge("parts", 4), Edge("parts")), {"batch_size": 1, "num_threads": 2})
    code = python_code.dumps(graph)
    assert "parts = fn.external_source(" in code
    assert "return parts[4], parts[0]" in code
    assert traced(code) == graph


VIDEO: dict[str, Any] = {"filenames": ["a"], "sequence_length": 1}


@pytest.mark.parametrize(
    ("reader", "names"),
    [
        (lambda: fn.readers.video(**VIDEO, labels=[0], enable_timestamps=True), "frames, labels, timestamps"),
        (lambda: fn.experimental.readers.video(**VIDEO, enable_frame_num=True), "frames, frame_num"),
        (lambda: fn.readers.caffe2(path="a", image_available=False, label_type=1), "labels, caffe2_1"),
    ],
)
def test_outputs_have_the_names_of_those_that_are_asked_for(reader: Any, names: str) -> None:
    with dali_lab.Pipeline(1, 1, None) as pipeline:
        pipeline.set_outputs(*reader())
    assert f"    {names} = fn." in python_code.dumps(pipeline.graph)


def test_a_lambda_leaves_a_function_to_write() -> None:
    graph = Graph({"x": Node("x", "external_source", arguments={"source": lambda: 0})}, (Edge("x"),))
    code = python_code.dumps(graph)
    assert "def x_source():" in code
    assert "source=x_source" in code
    assert "lambda" in code


@pytest.mark.parametrize("name", ["", "module", "module:", "a b:c", "module:<lambda>", "class:x"])
def test_names_that_cannot_be_imported_leave_a_function_to_write(name: str) -> None:
    graph = Graph({"x": Node("x", "external_source", arguments={"source": PythonReference(name)})}, (Edge("x"),))
    assert "source=x_source" in python_code.dumps(graph)
    with pytest.raises(FormatError):
        PythonReference(name).resolve()


def test_bypassed_nodes_are_left_out() -> None:
    graph = example().replaced(view={"nodes": {"my flip": {"bypass": True}, "chance": {"bypass": True}}})
    with pytest.raises(FormatError, match=r"output 1 \('max@gpu'\) is off: 'chance' is bypassed and has nothing"):
        python_code.dumps(graph)
    graph = graph.replaced(outputs=graph.outputs[:1])
    code = python_code.dumps(graph, main="none")
    assert "my_flip" not in code
    assert "chance" not in code
    assert "return part\n" in code


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (Graph({"a": Node("a", "flip")}, (Edge("a"),)), "a: takes 1 input"),
        (Graph({"a": Node("a", "made.up")}, (Edge("a"),)), "made.up"),
        (Graph({"a": Node("a", "external_source")}), "no outputs"),
        (Graph({"a": Node("a", "flip", inputs=(Edge(""),))}, (Edge("a"),)), r"input 0 \(\w+\) is not connected"),
    ],
)
def test_unfinished_graphs_are_refused(graph: Graph, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        python_code.dumps(graph)


def test_operators_beyond_dali_are_listed() -> None:
    from dali_lab.schema import Operator, register
    from dali_lab.schema.registry import unregister

    @register
    class Sparkle(Operator):
        """Adds sparkle."""

        name = "test.sparkle"
        beyond_dali = True

    try:
        graph = Graph({"a": Node("a", "test.sparkle")}, (Edge("a"),))
        assert "fn.test.sparkle()" in python_code.dumps(graph)
        with pytest.raises(FormatError, match=r"NVIDIA DALI has no equivalent for:\n  a \(test.sparkle\)"):
            python_code.dumps(graph, "nvidia.dali")
    finally:
        unregister("test.sparkle")


def test_names_come_from_variables() -> None:
    @dali_lab.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define() -> Any:
        pictures, kinds = fn.external_source(source=batches, num_outputs=2)
        for _ in range(2):
            pictures = fn.flip(pictures)
        moved = fn.flip(pictures, horizontal=kinds).gpu()
        scaled = pictures * 0.5 + 1
        return moved, scaled[1:], fn.flip(scaled)

    assert list(define().graph.nodes) == [
        "pictures",
        "pictures_2",
        "pictures_3",
        "moved",
        "mul",
        "scaled",
        "tensor_subscript",
        "flip",
    ]
