"""Programs as people write them are read without being run, and give what tracing them gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from dali_lab.cli.entry import main
from dali_lab.errors import FormatError
from dali_lab.formats import load
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python import programs
from dali_lab.formats.python import reader as python_static
from dali_lab.formats.python import tracing as python_import
from dali_lab.graph.graph import Graph

PROGRAM = """
import math
import os.path as osp
import numpy as np
from nvidia.dali import fn, ops, pipeline_def, types
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.types import *

try:
    import no_such_package as fast
except ImportError:
    fast = None

ROOT, SPLIT = "data", "train"
COMMON = dict(num_threads=2, device_id=None)
SIZES = {"small": (8, 9)}
SIZES["large"] = (16, 18)
if __name__ == "__main__":
    ROOT = "elsewhere"


class Source:
    def __init__(self, count):
        self.count = count

    def __call__(self, info):
        raise StopIteration


def batches():
    yield [np.zeros(2, np.float32)]


def view(*images, scale=1.0, **options):
    return [fn.resize(image, resize_x=scale * 10, **options) for image in images]


@pipeline_def(**COMMON, batch_size=4)
def texts():
    files, labels = fn.readers.file(file_root=f"{ROOT}/{SPLIT!s:>6}", name="Reader_%02d" % 3, files=["{}".format(1)])
    images = fn.decoders.image(files, name="_".join(["a", "b"]).upper())
    other = fn.readers.numpy(file_root=osp.join(ROOT, "x"), file_filter="*" + ".npy")
    return images, labels, other


@pipeline_def(batch_size=2)
def loops(least=16):
    images = fn.external_source(source=Source(3), batch=False, layout="HWC")
    numbers = fn.external_source(batches(), name="numbers")
    size, pyramid = 64, []
    while size >= least:
        images = fn.resize(images, size=(size, size))
        pyramid.append(images)
        size //= 2
    try:
        edited = fn.python_function(images, function=lambda image: image + 1)
        wrong = fn.resize(images, no_such_argument=1)
    except TypeError as error:
        print("left out", error)
        wrong = edited
    assert len(pyramid) == 3, "three levels"
    seen = 0
    for level in pyramid:
        try:
            if len(pyramid) > 1:
                continue
        finally:
            seen += 1
    first, *rest = pyramid

    def larger(image, by=math.sqrt(4.0)):
        return fn.cast(image, dtype=DALIDataType.FLOAT) * by

    shrink = lambda image: fn.resize(image, size=SIZES["small"])
    named = {name: fn.resize(first, size=size) for name, size in SIZES.items()}
    both = view(first, wrong, scale=2, mode="not_larger")
    total = sum([1, 2]) * max(2, 3) if isinstance(least, int) and hasattr(fn, "resize") else 0
    last = first + [0.0] * 3 if 0 else first
    return (*rest, larger(first), shrink(first), named["large"], *both, numbers + total, numbers + seen, last)


class Base(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, **options):
        super().__init__(batch_size, num_threads, device_id, seed=options.get("seed", 7))
        self.steps = {"nop": ops.Copy()}
        self.steps["rotate"] = ops.Rotate(angle=10.0)
        self.join = ops.Compose([ops.Flip(), ops.Resize(size=(4, 4))])
        self.inputs = self.reader()

    def reader(self):
        return ops.readers.File(file_root="y")

    def define_graph(self):
        files, labels = self.inputs(name="Reader")
        images = fn.decoders.image(files)
        return (*[step(images) for step in self.steps.values()], self.join(images), labels)


class Derived(Base):
    def __init__(self, batch_size, num_threads, device_id):
        super(Derived, self).__init__(batch_size, num_threads, device_id, seed=9)


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def asks(root, size, *, mirror=False):
    files, _ = fn.readers.file(file_root=root)
    return fn.flip(fn.resize(fn.decoders.image(files), size=size), horizontal=mirror)


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def constants():
    chosen = fn.random.choice(5, p=[0.2] * 5)
    images = fn.external_source(name="images")
    first, second = fn.resize([images, images], size=8)
    return chosen, first, second, images + np.float32([1, 2])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "the program.py"
    path.write_text(PROGRAM, "utf-8")
    return path


@pytest.mark.parametrize("name", ["texts", "loops", "Base", "Derived", "constants"])
def test_they_are_read_as_they_are_traced(program: Path, name: str) -> None:
    read, run = python_static.read(PROGRAM, name), python_import.trace(program, name)
    assert read == run
    assert list(read.nodes) == list(run.nodes)


def test_pipelines_are_listed_with_their_arguments() -> None:
    found = {entry.name: entry for entry in programs.pipelines(PROGRAM)}
    assert list(found) == ["texts", "loops", "Base", "Derived", "asks", "constants"]
    assert found["asks"].arguments == ("root", "size")
    assert [name for name, _ in found["Derived"].optional] == ["batch_size", "num_threads", "device_id"]


def test_arguments_can_be_given(program: Path) -> None:
    arguments = {"root": "pictures", "size": [5, 6], "mirror": True, "seed": 3}
    graph = load(program, name="asks", arguments=arguments)
    assert graph == python_import.trace(program, "asks", arguments=arguments)
    assert graph.pipeline["seed"] == 3
    with pytest.raises(FormatError, match="its argument 'size' has no default"):
        load(program, name="asks", arguments={"root": "x"})


def test_policies_of_augmentation_are_followed() -> None:
    text = (
        "from nvidia.dali import fn, pipeline_def\nfrom nvidia.dali.auto_aug import rand_augment\n"
        "@pipeline_def(batch_size=2, enable_conditionals=True)\ndef policy():\n"
        "    images = fn.external_source(name='images', layout='HWC')\n"
        "    return rand_augment.rand_augment(images, n=1, m=5, shape=(8, 8))\n"
    )
    read, run = python_static.read(text), python_import.trace_text(text)
    assert [node.op for node in read.nodes.values()] == [node.op for node in run.nodes.values()]
    with pytest.raises(FormatError, match="many augmentations"):
        python_static.read(text.replace("n=1", "n=1000000"))


def test_functions_of_a_program_that_cannot_be_imported_have_no_name() -> None:
    text = (
        "from dali_lab import fn, pipeline_def\ndef source():\n    return 1\n"
        "@pipeline_def(batch_size=1)\ndef p():\n    return fn.external_source(source)\n"
    )
    assert python_import.trace_text(text)["external_source"].arguments["source"].name is None


def test_debug_mode_is_left_out_of_tracing() -> None:
    text = (
        "from dali_lab import fn, pipeline_def\n@pipeline_def(batch_size=1, debug=True)\ndef p():\n"
        "    numbers = fn.random.uniform()\n    {}\n    return numbers + 1\n"
    )
    assert list(python_import.trace_text(text.format("pass")).nodes) == ["numbers", "add"]
    with pytest.raises(FormatError, match="line 5: AttributeError"):
        python_import.trace_text(text.format("print(numbers.get())"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"import os\n# caf\xe9\n", "line 2: this is not text in utf-8"),
        ("import os\n".encode("utf-16"), "encoding"),
        (b"import os\n\0", "line 2: there is a zero byte"),
        (b"# coding: no-such-coding\n", "no-such-coding"),
        (b"def f(:\n", "line 1"),
        (b"", "empty"),
    ],
)
def test_what_is_no_program_says_so_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, words: str
) -> None:
    path = tmp_path / "p.py"
    path.write_bytes(data)
    assert main(["convert", str(path), str(tmp_path / "p.json")]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"dali-lab convert: {path}: ") and words in message
    assert message.count("\n") == 1


def test_other_encodings_are_read() -> None:
    text = f"# -*- coding: latin-1 -*-\n{PROGRAM.replace('data', 'donnée')}"
    graph = python_static.read(programs.decoded(text.encode("latin-1")), "texts")
    assert graph["Reader_03"].arguments["file_root"] == "donnée/ train"


def test_programs_are_converted_from_the_command_line(program: Path, tmp_path: Path) -> None:
    target = tmp_path / "p.dali.json"
    given = ["--pipeline", "asks", "--argument", "root=/x", "--argument", "size=(3, 4)"]
    assert main(["convert", str(program), str(target), *given]) == 0
    read: Graph = json_file.load(target)
    assert main(["convert", str(program), str(target), *given, "--trace"]) == 0
    assert json_file.load(target) == read
    assert read["Reader" if "Reader" in read.nodes else "files"].arguments["file_root"] == "/x"


def test_the_command_line_says_how_to_go_on(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(program), "x.json", "--pipeline", "asks"]) == 2
    assert "--argument root=VALUE" in capsys.readouterr().err
    program.write_text(PROGRAM.replace("size, pyramid = 64, []", "size, pyramid = int(open('x').read()), []"))
    assert main(["convert", str(program), "x.json", "--pipeline", "loops"]) == 2
    assert "--trace" in capsys.readouterr().err
    assert main(["convert", str(program), "x.json", "--argument", "nothing"]) == 2
