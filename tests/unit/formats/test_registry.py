"""Which form a file has is asked once, of the forms in a fixed order."""

from __future__ import annotations

from pathlib import Path

import pytest

from dali_lab import fn, pipeline_def
from dali_lab.formats import FORMATS, detected, dumps, loads
from dali_lab.formats.registry import DETECTED
from dali_lab.graph.graph import Graph
from dali_lab.io.protobuf import BYTES, FIXED32, VARINT, fields
from dali_lab.model.errors import FormatError


def small_graph() -> Graph:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline() -> object:
        encoded, labels = fn.readers.file(file_root="/pictures", name="Reader")
        return fn.decoders.image(encoded) * 2, labels

    return pipeline().graph


def test_every_form_that_is_read_is_detected_in_a_fixed_order() -> None:
    assert set(DETECTED) == {form.name for form in FORMATS.values() if form.reads}
    assert all(FORMATS[name].detect is not None for name in DETECTED)
    assert DETECTED.index("dali-serialized") < DETECTED.index("python")


@pytest.mark.parametrize("name", ["json", "dali-serialized", "python"])
def test_what_a_form_wrote_is_detected_as_that_form(name: str) -> None:
    graph = small_graph()
    data = dumps(graph, name)
    form = detected(data)
    assert form is FORMATS[name]
    assert loads(data) == graph


def test_programs_and_graph_files_are_no_serialized_pipelines() -> None:
    detect = FORMATS["dali-serialized"].detect
    assert detect is not None
    root = Path(__file__).parents[3]
    files = [*(root / "dali_lab").rglob("*.py"), *(root / "gallery").rglob("*.json"), *root.glob("tests/unit/*/*.py")]
    assert len(files) > 500
    assert [file for file in files if detect(file.read_bytes(), file.name)] == []


def test_a_serialized_pipeline_that_was_cut_off_is_told_so() -> None:
    data = dumps(small_graph(), "dali-serialized")
    with pytest.raises(FormatError, match="cut off"):
        loads(data[:-3])


def test_the_ending_says_that_a_file_is_a_program() -> None:
    with pytest.raises(FormatError, match="zero byte"):
        loads(b"import dali_lab\n\0", file="program.py")
    with pytest.raises(FormatError, match="empty"):
        loads(b"\xef\xbb\xbf \n")


def test_fields_of_a_message() -> None:
    message = b"\x08\x96\x01" + b"\x12\x03abc" + b"\x1d\0\0\0\0"
    assert list(fields(message)) == [(1, VARINT), (2, BYTES), (3, FIXED32)]
    for damaged in (message[:-1], b"\x0b", b"\x00\x01", b"\x08" + b"\xff" * 11):
        with pytest.raises(ValueError, match=r"field|number|wire type"):
            list(fields(damaged))
