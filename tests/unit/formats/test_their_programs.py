"""Programs as NVIDIA DALI's users write them are traced and go to every form; the gallery comes back from its code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dali_lab.formats.dali import writer as dali_proto
from dali_lab.formats.python import reader as python_static
from dali_lab.formats.python import tracing as python_import
from dali_lab.formats.python import writer as python_code
from dali_lab.gallery import built_in_folder, load_entry
from dali_lab.schema.registry import has_operator
from tests.unit.formats.test_python_code import traced

PROGRAMS = Path(__file__).parent / "programs"
CASES: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("old_style", "Training", {}, ["saturation", "coin", "Reader", "images", "images_2", "images_3", "images_4"]),
    ("many", "gallery", {}, ["encoded", "images", "uniform", "rotate", "warp_affine", "gaussian_blur"]),
    ("many", "sometimes", {}, ["image", "do_rotate", "split", "uniform", "split_2", "result", "merge"]),
    ("many", "augmented", {}, []),
    ("many", "spectra", {"nfft": 512, "batch_size": 1, "num_threads": 1, "device_id": None}, []),
    ("many", "block", {}, ["jpegs", "decode", "enhance"]),
]


def check_traced(program: str, pipeline: str, arguments: dict[str, Any], names: list[str]) -> None:
    """Trace a pipeline of a program, compare the names of its nodes, and write it in every form."""
    graph = python_import.trace(PROGRAMS / f"{program}.py", pipeline, arguments=arguments)
    assert not names or list(graph.nodes) == names
    assert python_code.dumps(graph, "nvidia.dali")
    assert dali_proto.loads(dali_proto.dumps(graph)).nodes.keys() == graph.nodes.keys()
    assert python_static.read(python_code.dumps(graph)).nodes.keys() == graph.nodes.keys()


@pytest.mark.parametrize(("program", "pipeline", "arguments", "names"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_programs_are_traced(program: str, pipeline: str, arguments: dict[str, Any], names: list[str]) -> None:
    check_traced(program, pipeline, arguments, names)


@pytest.mark.parametrize("entry", sorted(path.parent.name for path in built_in_folder().glob("*/entry.json")))
def test_the_gallery_comes_back_from_its_code(entry: str) -> None:
    graph = load_entry(built_in_folder() / entry).graph
    if not all(has_operator(node.op) for node in graph.nodes.values()):
        pytest.skip("this release lacks an operator of it")
    code = python_code.dumps(graph)
    assert traced(code) == graph
    assert python_static.read(code) == graph
