"""``exclude_list``: samples that are left out by name, in every reader."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import fn
from dali_lab.errors import DaliLabError
from dali_lab.formats import dumps, loads
from dali_lab.io.exclude_list import exclude_list, read_exclude_list
from tests.unit.readers import datasets

dali = pytest.importorskip("nvidia.dali")
import nvidia.dali.fn  # noqa: E402, F401

COUNT = 12


def pipeline(dataset: datasets.Dataset, batch_size: int = 4, **arguments: Any) -> dali_lab.Pipeline:
    saves = bool(arguments.pop("saves", False))
    checkpoint = arguments.pop("checkpoint", None)
    pipe = dali_lab.Pipeline(batch_size, 2, None, seed=5, enable_checkpointing=saves, checkpoint=checkpoint)
    with pipe, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are placed on a GPU
        output = dataset.read(name="Reader", **arguments)
        pipe.set_outputs(output[0] if isinstance(output, (list, tuple)) else output)
    pipe.build()
    return pipe


def epoch(pipe: dali_lab.Pipeline) -> list[bytes]:
    """The samples of an epoch, and not those of the next one."""
    size = pipe.reader_meta("Reader")["epoch_size"]
    found: list[bytes] = []
    while len(found) < size:
        (output,) = pipe.run()
        found += [np.array(output.at(i)).tobytes() for i in range(len(output))]
    return found[:size]


def names_of(pipe: dali_lab.Pipeline) -> tuple[str, ...]:
    reader = next(step.operator for step in pipe._built().plan.sources)
    return reader.sample_names(np.arange(pipe.reader_meta("Reader")["epoch_size"]))  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", datasets.ALL)
def test_each_reader_leaves_out_what_is_listed(tmp_path: Path, kind: str) -> None:
    dataset = datasets.ALL[kind](tmp_path, datasets.pictures(COUNT))
    whole = pipeline(dataset)
    names, contents = names_of(whole), epoch(whole)
    assert len(set(names)) == len(names) == len(contents)
    listed = str(tmp_path / "listed")
    Path(listed).write_bytes(exclude_list([names[1], names[6], "no such sample"]))
    rest = pipeline(dataset, exclude_list=listed)
    assert rest.reader_meta("Reader")["epoch_size"] == len(names) - 2
    assert epoch(rest) == [content for place, content in enumerate(contents) if place not in (1, 6)]
    for pipe in (whole, rest):
        pipe.close()


ORDERS: list[dict[str, Any]] = [
    {},
    {"random_shuffle": True, "initial_fill": 3},
    {"shuffle_after_epoch": True},
    {"num_shards": 3, "shard_id": 1},
    {"num_shards": 2, "pad_last_batch": True, "stick_to_shard": True},
]


@pytest.mark.parametrize("arguments", ORDERS, ids=str)
def test_the_order_is_that_of_a_dataset_without_them(tmp_path: Path, arguments: dict[str, Any]) -> None:
    """NVIDIA DALI, given a list of the remaining files, reads the same in each epoch."""
    datasets.file(tmp_path, datasets.pictures(COUNT))
    listed, remaining = str(tmp_path / "listed"), str(tmp_path / "remaining.txt")
    files = [(f"a/{i:04d}.png", 0) for i in range(0, COUNT, 2)] + [(f"b/{i:04d}.png", 1) for i in range(1, COUNT, 2)]
    Path(listed).write_bytes(exclude_list(["a/0004.png", "b/0001.png"]))
    kept = [f"{name} {label}\n" for name, label in files if name not in ("a/0004.png", "b/0001.png")]
    Path(remaining).write_text("".join(kept))

    def batches(engine: Any, **more: Any) -> list[Any]:
        pipe = engine.Pipeline(4, 2, None, seed=5)
        with pipe:
            pipe.set_outputs(*engine.fn.readers.file(file_root=str(tmp_path), name="Reader", **more, **arguments))
        pipe.build()
        found = [[np.array(out.at(i)).tobytes() for out in pipe.run() for i in range(4)] for _ in range(8)]
        return [*found, pipe.reader_meta("Reader")]

    assert batches(dali_lab, exclude_list=listed) == batches(dali, file_list=remaining)


def test_a_whole_file_and_a_file_that_cannot_be_opened_may_be_listed(tmp_path: Path) -> None:
    dataset = datasets.videos(tmp_path, [b""] * 12)
    (tmp_path / "0001.webm").write_bytes(b"no video")
    with pytest.raises(DaliLabError, match=r"0001\.webm"):
        pipeline(dataset)
    listed = str(tmp_path / "listed")
    Path(listed).write_bytes(exclude_list([str(tmp_path / "0001.webm")]))
    pipe = pipeline(dataset, exclude_list=listed)
    assert pipe.reader_meta("Reader")["epoch_size"] == 8
    pipe.close()


def test_a_checkpoint_goes_on_and_one_of_another_list_is_refused(tmp_path: Path) -> None:
    dataset = datasets.file(tmp_path, datasets.pictures(COUNT))
    listed, other = str(tmp_path / "listed"), str(tmp_path / "other")
    Path(listed).write_bytes(exclude_list(["a/0004.png"]))
    Path(other).write_bytes(exclude_list(["a/0002.png"]))
    arguments = {"exclude_list": listed, "random_shuffle": True, "saves": True}
    whole = pipeline(dataset, **arguments)
    whole.run()
    saved = whole.checkpoint()
    following = [np.array(whole.run()[0].at(i)) for i in range(4)]
    again = pipeline(dataset, checkpoint=saved, **arguments)
    for ours, theirs in zip([np.array(again.run()[0].at(i)) for i in range(4)], following, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for changed in (other, None):
        with pytest.raises(DaliLabError, match="exclude_list"):
            pipeline(dataset, checkpoint=saved, **{**arguments, "exclude_list": changed}).run()


def test_what_exports_do_with_it(tmp_path: Path) -> None:
    dataset = datasets.file(tmp_path, datasets.pictures(COUNT))
    listed = str(tmp_path / "listed")
    Path(listed).write_bytes(exclude_list(["a/0004.png"]))
    pipe = pipeline(dataset, exclude_list=listed)
    graph = pipe.graph
    for form in ("json", "python", "dali-serialized"):
        assert loads(dumps(graph, form)) == graph, form
    assert b"exclude_list" not in dumps(graph, "nvidia-python")
    from dali_lab.formats.registry import FORMATS

    for form in ("nvidia-python", "dali-serialized"):
        assert any("exclude_list of Reader" in sentence for sentence in FORMATS[form].lost(graph))
    theirs = dali.Pipeline.deserialize(dumps(graph, "dali-serialized"))
    theirs.build()
    assert theirs.reader_meta("Reader")["epoch_size"] == COUNT


ODD = ["with\nbreak", "# number", '"quoted"', " spaces ", "", "b\udcff.png", "ends\r"]


def test_names_of_all_kinds_come_back(tmp_path: Path) -> None:
    path = str(tmp_path / "listed")
    Path(path).write_bytes(exclude_list([*ODD, "./a.png"]))
    assert read_exclude_list(path) == {*ODD, "a.png"}


def test_lists_that_cannot_be_used(tmp_path: Path) -> None:
    dataset = datasets.file(tmp_path, datasets.pictures(3))
    listed = str(tmp_path / "listed")
    with pytest.raises(DaliLabError, match=r"Reader(.|\n)*exclude_list(.|\n)*cannot read"):
        pipeline(dataset, exclude_list=listed)
    Path(listed).write_text('"half')
    with pytest.raises(DaliLabError, match="line 1"):
        pipeline(dataset, exclude_list=listed)
    Path(listed).write_bytes(exclude_list(["a/0000.png", "b/0001.png", "a/0002.png"]))
    with pytest.raises(DaliLabError, match="leaves out all 3 samples"):
        pipeline(dataset, exclude_list=listed)
    with pytest.raises(DaliLabError, match="exclude_list"), dali_lab.Pipeline(1, 1, None):
        fn.readers.file(file_root=str(tmp_path), exclude_list=3.5j)
