"""Programs are read without being run: exported ones, and users' own; nothing else is evaluated."""

from __future__ import annotations

import contextlib
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dali_lab
from dali_lab.errors import FormatError
from dali_lab.formats.python import reader as python_static
from dali_lab.formats.python import tracing as python_import
from dali_lab.formats.python import writer as python_code
from dali_lab.graph.graph import Edge, Graph
from dali_lab.model.references import PythonReference
from tests.together import with_each
from tests.unit.formats.strategies import finished_graphs
from tests.unit.formats.test_python_code import example, traced

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(finished_graphs())
def test_reading_an_exported_program_gives_the_same_graph(graph: Graph) -> None:
    code = python_code.dumps(graph)
    assert python_static.read(code) == graph, code


def test_it_reads_what_tracing_gives() -> None:
    code = python_code.dumps(example())
    read, run = python_static.read(code), traced(code)
    assert read["images"].arguments["source"] == PythonReference("tests.unit.formats.test_python_code:batches")
    assert list(read.nodes) == list(run.nodes)
    assert read.outputs == run.outputs
    assert read.pipeline == run.pipeline


SCRIPT = '''
import os
import numpy as np
import nvidia.dali.fn as fn
import nvidia.dali.types as types
from nvidia.dali import pipeline_def
from nvidia.dali.plugin.pytorch import DALIGenericIterator
import nvidia.dali.plugin.base_iterator as base
from mine import source

MEAN = [0.5 * 255, 127.5]
FOLDER = os.environ["DATA"]

@pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=1)
def first(flip=True, scale=2 ** 3):
    """Read pictures."""
    images, _ = fn.external_source(source=source, num_outputs=2)
    images = fn.flip(images, horizontal=1)
    images = fn.flip(images, vertical=flip)
    images *= scale
    out = images[1:3, :, -1].gpu()
    return out, images > MEAN[1], fn.flip(fn.flip(images))

@pipeline_def
def second():
    for name in os.listdir("."):
        x = fn.external_source(name=name)
    return x

def main():
    os.remove("everything")

main()
'''


def test_a_script_as_people_write_it() -> None:
    graph = python_static.read(SCRIPT, "first")
    assert list(graph.nodes) == ["images", "images_2", "images_3", "images_4", "out", "gt", "flip", "flip_2"]
    assert graph["images"].arguments["source"] == PythonReference("mine:source")
    assert graph["images_4"].arguments == {"b": 8}
    assert graph["gt"].arguments == {"b": 127.5}
    assert graph["images_2"].origin == "line 18"
    assert graph.outputs == (Edge("out", 0, "gpu"), Edge("gt"), Edge("flip_2"))
    assert graph.pipeline["seed"] == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (None, "several pipelines here: first, second"),
        ("second", "line 26: os has no 'listdir' that is known here; to read this program it must be run"),
        ("frist", "did you mean 'first'"),
    ],
)
def test_what_cannot_be_read_says_why(name: str | None, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        python_static.read(SCRIPT, name)


HEAD = """\
from dali_lab import Pipeline, fn, math, pipeline_def, types; import numpy as np, os
from dali_lab.auto_aug.rand_augment import rand_augment
def endless(x): return endless(x)
def twice(x): return [x.extend(x) for _ in range(99)]
@pipeline_def(batch_size=1)
def p():
"""


@with_each(
    "line",
    [
        "__import__('os').system('true')",
        "open('x')",
        "os.system('true')",
        "exec('1')",
        "fn.sys.exit()",
        "types.np.load('x')",
        "math.operation('add', 1, 2)",
        "fn.make_function(1)",
        "fn.__builtins__",
        "().__class__.__bases__[0].__subclasses__()",
        "np.load('x')",
        "types.Constant(1).__class__",
        "fn.external_source().source.pipeline",
        "[x for x in range(10 ** 9)]",
        "[0 for x in range(9999) for y in range(9999)]",
        "[fn] + [os]; y = [].__class__",
        "list(range(10 ** 12))",
        "tuple(open('x') for _ in range(2))",
        "'x' in os.environ",
        "endless(1)",
        "twice([0])",
        "Pipeline.__init__",
        "(lambda: open('x'))()",
        "fn.external_source((lambda: 1).__code__).x",
        "f'{1:999999999}'",
        "f'{fn}'",
        "'{0.__class__}'.format(1)",
        "'{:{}}'.format(1, 10 ** 9)",
        "'%999999999d' % 1",
        "'%*d' % (10 ** 9, 1)",
        "'x'.zfill(10 ** 10)",
        "','.join(['a' * 9999] * 9999)",
        "('a' * 9999).replace('a', 'a' * 9999)",
        "str(fn)",
        "os.path.join('a', os)",
        "os.path.abspath('x')",
        "sum([fn.external_source()])",
        "sorted([1], key=open)",
        "hasattr(1, 'real')",
        "isinstance(1, open)",
        "[y := [0]] + [y := y * 2 for _ in range(99)]",
        "[y := [0]] + [y := [*y, *y] for _ in range(99)]",
        "round(5, -10 ** 9)",
        "[z := 3] + [z := z * z for _ in range(99)]",
        "str([w := [0]] + [w := [w, w] for _ in range(99)])",
        "10 ** 10 ** 10",
        "'a' * 10 ** 9",
        "list('a' * 5)",
        "rand_augment(fn.external_source(), n=10 ** 6, m=1)",
        "1 << 10 ** 9",
    ],
)
def test_nothing_else_is_evaluated(line: str) -> None:
    with pytest.raises(FormatError, match=r"line [23467]"):
        python_static.read(f"{HEAD}    x = {line}\n    return fn.external_source()")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fn.flip(fn.external_source(), horizontl=1)", "did you mean 'horizontal'"),
        ("fn.flip()", "takes 1 input"),
        ("fn.flip(fn.external_source(), horizontal='left')", "takes an int"),
        ("fn.no_such(1)", "no_such"),
        ("a, b = fn.external_source()", "cannot unpack: 2 values"),
    ],
)
def test_wrong_code_says_where(line: str, words: str) -> None:
    with pytest.raises(FormatError, match=rf"line 7(.|\n)*{words}"):
        python_static.read(f"{HEAD}    {line}\n    return fn.external_source()")


@SETTINGS
@given(st.data())
def test_damaged_programs_are_refused_or_read(data: st.DataObject) -> None:
    text = python_code.dumps(example())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from(["", "(", "]", "\n", ",", "=", "x", "fn", " ", "*", "0", "'", "\0", "9" * 30])
        )
        text = text[:place] + piece + text[place + data.draw(st.integers(0, 6)) :]
    with contextlib.suppress(FormatError):
        python_static.read(text)


def test_deep_nesting_is_refused() -> None:
    for text in ("(" * 5000, f"{HEAD}    return {'-' * 20_000}fn.external_source()"):
        with pytest.raises(FormatError):
            python_static.read(text, "p")


def test_names_do_not_leak_from_the_caller() -> None:
    graph = python_static.read(f"{HEAD}    return fn.flip(fn.external_source())")
    assert list(graph.nodes) == ["external_source", "flip"]
    assert "suggesting" in dir(sys.modules[dali_lab.graph.naming.__name__])


STYLES = """
from nvidia.dali import Pipeline, fn, ops, pipeline_def, types
import nvidia.dali.ops.readers as readers
SIZES = [10, 15, 20]

def turned(images, angle, mode="some"):
    if mode == "some" and angle is not None:
        result = fn.rotate(images, angle=angle)
        return result
    return fn.flip(images)

def chosen(images, flag):
    if flag:
        return images + 1
    elif not flag and 0 < fn.random.uniform(range=(-1, 2)) <= 1:
        brighter = images * 2
        return fn.cast(brighter, dtype=types.INT32)
    return fn.cast(images, dtype=types.INT32)

@pipeline_def(batch_size=2, enable_conditionals=True)
def function(count=2):
    files, labels = fn.readers.file(file_root="x", name="reader")
    images = fn.decoders.image(files)
    views = []
    for number, size in enumerate(SIZES):
        if size == 15:
            continue
        if number > count:
            break
        views.append(fn.resize(images, size=size + number))
    crops = [fn.crop(view, crop=(2, 2)) for view in views if len(views) > 0]
    flag = fn.random.coin_flip(dtype=types.BOOL)
    both = [images] + crops
    for _ in range(2):
        if flag:
            labels = labels + 1
    parts = (chosen(images, flag), turned(images, 3.0), turned(images, None))
    return *both, *parts, labels

class Old(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, seed=3):
        super(Old, self).__init__(batch_size, num_threads, device_id, seed=seed)
        self.input = readers.File(file_root="y")
        self.decode = ops.ImageDecoder(device="cpu")
        self.size = (3, 4)
        self.resize = ops.Resize(size=self.size)

    def define_graph(self):
        jpegs, labels = self.input(name="Reader")
        images = self.decode(jpegs)
        images = self.resize(images)
        return [images, labels]

outer = Pipeline(batch_size=5, num_threads=1, device_id=None)
with outer:
    jpegs, labels = fn.readers.file(file_root="z")
    outer.set_outputs(fn.decoders.image(jpegs), labels)

with Pipeline(3, 1, None, seed=4) as inner:
    numbers = fn.external_source(name="numbers")
inner.set_outputs(numbers + 1)
"""


@pytest.mark.parametrize("name", ["function", "Old", "outer", "inner"])
def test_other_styles_are_read_as_they_are_traced(name: str) -> None:
    read, run = python_static.read(STYLES, name), python_import.trace_text(STYLES, name)
    assert read == run
    assert list(read.nodes) == list(run.nodes)
    assert read.pipeline == run.pipeline


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("for _ in range(2):\n        if flag:\n            return flag\n    return flag", "a return inside a loop"),
        ("for _ in range(2):\n        if flag:\n            break\n    return flag", "the end of a loop"),
        ("while flag:\n        pass\n    return flag", "a node decides over a loop"),
        ("return [flag for _ in range(2) if flag][0]", "a node decides in a comprehension"),
    ],
)
def test_what_depends_on_samples_is_not_decided_here(body: str, words: str) -> None:
    code = HEAD.replace("batch_size=1", "batch_size=1, enable_conditionals=True")
    with pytest.raises(FormatError, match=words):
        python_static.read(f"{code}    flag = fn.random.coin_flip(dtype=types.BOOL)\n    {body}")
