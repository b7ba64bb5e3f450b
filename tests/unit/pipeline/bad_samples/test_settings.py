"""Policies about bad samples: of pipelines and of nodes, in files, modes and commands."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab.experimental.dynamic as ndd
from dali_lab import Pipeline, fn, formats, pipeline_def
from dali_lab.cli.entry import main
from dali_lab.formats.registry import FORMATS
from dali_lab.model.errors import DaliLabError
from tests.unit.pipeline.bad_samples.cases import (
    BAD,
    BATCHES,
    PLAIN,
    SIZE,
    TOTAL,
    Case,
    assert_same,
    built,
    damaged,
    expected,
    gone,
    good_files,
    no_header,
    run,
    trained,
)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"on_error": "ignore"}, "'raise', 'skip', 'replace'"), ({"max_error_rate": 2}, r"\[0, 1\]")],
)
def test_a_wrong_policy_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Pipeline(1, 1, None, **settings)


@pytest.mark.parametrize("form", ["json", "dali-serialized", "python"])
def test_the_policy_travels_with_the_graph(form: str) -> None:
    pipeline = Pipeline(2, 1, None, on_error="replace", max_error_rate=0.25)
    with pipeline:
        pipeline.set_outputs(fn.random.uniform(range=(0.0, 1.0)))
    again = Pipeline.from_graph(formats.loads(formats.dumps(pipeline.graph, form)))
    assert (again.on_error, again.max_error_rate) == ("replace", 0.25)
    silent = Pipeline(2, 1, None)
    with silent:
        silent.set_outputs(fn.random.uniform(range=(0.0, 1.0)))
    assert "on_error" not in silent.graph.pipeline


@pytest.mark.parametrize("form", ["nvidia-python", "dali-serialized"])
def test_exports_to_nvidia_dali_say_that_the_policy_is_lost(form: str) -> None:
    pipeline = Pipeline(2, 1, None, on_error="skip")
    with pipeline:
        pipeline.set_outputs(fn.random.uniform(range=(0.0, 1.0)))
    assert any("ends at the first bad sample" in sentence for sentence in FORMATS[form].lost(pipeline.graph))


def test_the_command_line_lists_bad_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, files = damaged(PLAIN, folder)
    path = folder / "graph.dali.json"
    formats.dump(built(PLAIN, files, range(TOTAL)).graph, path)
    assert main(["run", str(path), "--batches", "1", "--on-error", "replace"]) == 0
    said = capsys.readouterr().out
    assert "bad sample" in said and "truncated" in said and "01.jpg" in said


@pytest.mark.parametrize("policy", ["replace", "skip"])
@pytest.mark.parametrize("behind", ["nothing", "crop", "resize"])  # a decoder alone, and merged in two ways
def test_a_node_has_an_answer_of_its_own(policy: str, behind: str, folder: Path) -> None:
    def graph(files: Sequence[str], numbers: Sequence[int]) -> Any:
        encoded, labels = fn.readers.file(files=list(files), labels=list(numbers), name="reader")
        images = fn.decoders.image(encoded, on_error=policy, name="decoder")
        if behind == "crop":
            images = fn.crop(images, crop=(20, 20))
        elif behind == "resize":
            images = fn.crop_mirror_normalize(fn.resize(images, size=(8, 8)))
        return images, labels

    case = Case(graph, ".jpg", no_header)
    left_out = BAD if policy == "skip" else ()
    _, files = damaged(case, folder)
    pipeline = built(case, files, range(TOTAL))
    assert_same(run(pipeline, BATCHES), expected(case, folder, left_out=left_out))
    assert {(record.node, record.operator) for record in pipeline.bad_samples} == {("decoder", "decoders.image")}
    assert all((record.replacement is None) == (policy == "skip") for record in pipeline.bad_samples)
    files[3] += " that is not there"  # the reader's own errors are raised as before
    with pytest.raises(DaliLabError, match="reader"):
        run(built(case, files, range(TOTAL)), 1)


def test_a_node_may_raise_where_the_pipeline_replaces_and_others_skip(folder: Path, tmp_path: Path) -> None:
    def graph(files: Sequence[str], numbers: Sequence[int]) -> Any:
        encoded, labels = fn.readers.file(files=list(files), labels=list(numbers), on_error="skip")
        return fn.decoders.image(encoded, on_error="raise"), fn.peek_image_shape(encoded), labels

    def source(info: Any) -> np.ndarray:
        if info.idx_in_epoch in (1, 8):
            raise ValueError("no such sample")
        return np.array(info.idx_in_epoch)

    files = [shutil.copy(path, tmp_path) for path in good_files(".jpg", folder)]
    gone(files[2])
    pipeline = built(Case(graph, ".jpg", gone), files, range(TOTAL), on_error="replace")
    assert [len(batch) // 3 for batch in run(pipeline, BATCHES)] == [SIZE - 1, SIZE, SIZE]
    no_header(files[4])
    with pytest.raises(DaliLabError, match="cannot decode"):
        run(built(Case(graph, ".jpg", gone), files, range(TOTAL), on_error="replace"), 1)
    pipeline = Pipeline(SIZE, 1, None)
    with pipeline:
        pipeline.set_outputs(fn.external_source(source, batch=False, on_error="replace"))
    assert [int(row) for batch in run(pipeline, 2) for row in batch] == [0, 2, 2, 3, 4, 5, 6, 7, 9, 9, 10, 11]


def test_debug_mode_says_that_it_raises(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    with pytest.warns(UserWarning, match="no effect in debug mode"):
        pipeline = pipeline_def(trained, batch_size=SIZE, num_threads=1, device_id=None, on_error="skip", debug=True)(
            files, range(TOTAL)
        )
    with pytest.raises(DaliLabError, match="truncated"):
        pipeline.run()
    node = pipeline_def(lambda: fn.random.uniform(on_error="replace"), batch_size=2, device_id=None, debug=True)()
    with pytest.warns(UserWarning, match="no effect in debug mode.*labels"):
        node.run()


def test_dynamic_mode_says_that_labels_are_the_programs(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    with pytest.raises(DaliLabError, match=r"argument 'on_error'.* catch SampleError"):
        ndd.decoders.image(np.fromfile(files[1], np.uint8), on_error="replace")
    reader = ndd.readers.File(files=[*files[:2], str(folder / "gone")], on_error="replace")
    names = [[int(label.cpu()) for label in labels] for _, labels in reader.next_epoch(batch_size=3)]
    assert names == [[0, 1, 0]]


def test_readers_of_dynamic_mode_leave_out_samples_and_whole_batches(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    gone = str(folder / "gone")
    for size in (None, 2):
        reader = ndd.readers.File(files=[files[0], files[2], gone, gone, files[3]], on_error="skip")
        epochs = [[(label + 1).cpu() for _, label in reader.next_epoch(batch_size=size)] for _ in range(2)]
        labels = [[int(each) for label in epoch for each in ([label] if size is None else label)] for epoch in epochs]
        # Batches go on into the next epoch: behind 0 1 | . . | 4 0 that one begins with its second sample.
        assert labels == [[0 + 1, 1 + 1, 4 + 1], [1, 2, 5]] if size is None else [[1, 2, 5, 1], [2, 5, 1, 2]]


def test_calls_of_dynamic_mode_take_batches_without_samples() -> None:
    empty = ndd.as_batch(np.zeros((0, 3), np.uint8))
    for _ in range(6):  # the first ones of a call are timed
        assert ndd.cast(empty, dtype=ndd.float32).batch_size == 0
