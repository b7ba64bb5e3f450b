"""Sources in Python and checkpoints outside of pipelines, in both engines: the same values, names, files and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab.experimental.dynamic as ours
from dali_lab.errors import DaliLabError
from dali_lab.schema.samples import picture
from tests.together import with_each

theirs = pytest.importorskip("nvidia.dali.experimental.dynamic")


_ERRORS = (StopIteration, KeyError, FileNotFoundError, TypeError, ValueError, RuntimeError)
"""Ours are errors of NVIDIA DALI's class and RuntimeErrors as well."""


def said(action: Callable[[], Any]) -> str:
    """The result of an action, or the class of its error."""
    try:
        return repr(action())
    except _ERRORS as error:
        return next(kind.__name__ for kind in _ERRORS if isinstance(error, kind))


def generated(ndd: Any) -> Callable[[], Iterator[Any]]:
    def generator() -> Iterator[Any]:
        yield [1, 2]
        yield ndd.batch([[1], [2, 3]])

    return generator


SOURCES: dict[str, Callable[[Any], Any]] = {
    "list": lambda ndd: ndd.ExternalSource([np.full((2, 2), number) for number in range(3)]),
    **{
        f"cycle {cycle}": lambda ndd, cycle=cycle: ndd.ExternalSource([np.arange(2), np.arange(3)], cycle=cycle)
        for cycle in ("quiet", "raise", "no", True, False)
    },
    "callable": lambda ndd: ndd.ExternalSource(lambda: np.arange(3)),
    "generator function": lambda ndd: ndd.ExternalSource(generated(ndd)),
    "generator function again": lambda ndd: ndd.ExternalSource(generated(ndd), cycle="quiet"),
    "several": lambda ndd: ndd.ExternalSource(lambda: (np.zeros(4), np.ones(4)), num_outputs=2),
    "too few": lambda ndd: ndd.ExternalSource(lambda: (np.zeros(4), np.ones(4)), num_outputs=3),
    "tensor and batch": lambda ndd: ndd.ExternalSource(lambda: (np.zeros(4), ndd.batch([1, 2])), num_outputs=2),
    "layout": lambda ndd: ndd.ExternalSource(lambda: np.zeros((2, 3), np.uint8), layout="HW", dtype=ndd.float32),
    "types": lambda ndd: ndd.ExternalSource(lambda: [1, 2], num_outputs=2, dtype=[ndd.float32, ndd.uint8]),
    "argument": lambda ndd: ndd.ExternalSource(lambda index: index),
    "no outputs": lambda ndd: ndd.ExternalSource(lambda: 1, num_outputs=0),
    "no source": lambda ndd: ndd.ExternalSource(5),
    "cycle of a callable": lambda ndd: ndd.ExternalSource(lambda: 1, cycle=True),
    "unknown cycle": lambda ndd: ndd.ExternalSource([1], cycle="x"),
    "cycle of a generator": lambda ndd: ndd.ExternalSource((number for number in range(3)), cycle=True),
    "layouts": lambda ndd: ndd.ExternalSource([1], layout=["HW", "C"]),
}


@with_each("name", SOURCES)
def test_sources(name: str) -> None:
    def asked(ndd: Any) -> list[str]:
        made: list[Any] = []
        refused = said(lambda: made.append(SOURCES[name](ndd)))
        sizes: list[dict[str, int]] = [{}, {"batch_size": 2}, {}, {}, {"batch_size": 3}]
        return [said(lambda size=size: made[0](**size)) for size in sizes] if made else [refused]

    assert asked(ours) == asked(theirs)


def test_all_items_of_a_source() -> None:
    source = ours.ExternalSource([np.arange(2), np.arange(2) + 5])
    assert [np.asarray(item.tensors[1]).tolist() for item in source.captured(2)] == [[0, 1], [5, 6]]


def test_a_failure_is_raised_once() -> None:
    with ours.EvalContext(), pytest.raises(DaliLabError, match="no layout") as caught:
        ours.resize(np.zeros((3, 3), np.uint8), size=2)
    assert caught.traceback  # holds the call, which leaving the context did not run again


def test_checkpoints_of_generators(tmp_path: Path) -> None:
    def used(ndd: Any) -> list[str]:
        folder = tmp_path / ndd.__name__.split(".")[0]
        pattern = f"{folder}/x_{{seq:03d}}.json"
        found: list[str] = []

        def tell(action: Callable[[], Any]) -> None:
            found.append(said(action).replace(str(folder), ""))

        first, second = ndd.random.RNG(seed=4), ndd.random.RNG(seed=5)
        saved = ndd.checkpoint.Checkpoint()
        for name in ("a", None, "b", "__op_3", ""):
            tell(lambda name=name: saved.register(first, name))
        tell(lambda: saved.register(second))
        tell(lambda: saved.register(second))
        tell(lambda: (len(saved), "a" in saved, saved.names, saved.is_complete, saved.is_loaded))
        tell(saved.serialize)
        tell(lambda: saved.get_state("a"))
        tell(lambda: saved.get_state("z"))
        first()
        tell(saved.collect)
        tell(saved.serialize)
        tell(lambda: saved.register(ndd.random.RNG(), "new"))
        tell(lambda: (saved.is_complete, str(saved.get_state("a"))))
        tell(lambda: saved.save(pattern))
        tell(lambda: saved.save(pattern))
        tell(lambda: ndd.checkpoint.Checkpoint().save(f"{folder}/x.json"))
        tell(lambda: ndd.checkpoint.Checkpoint().load(f"{folder}/{{a}}"))
        tell(lambda: ndd.checkpoint.Checkpoint().load(f"{folder}/q_{{seq}}"))
        loaded = ndd.checkpoint.Checkpoint()
        tell(lambda: loaded.load(pattern))
        tell(lambda: (loaded.is_loaded, loaded.is_complete, len(loaded)))
        again = ndd.random.RNG(seed=1)
        tell(lambda: loaded.register(again, "a"))
        assert again() == first()
        tell(lambda: loaded.register(ndd.random.RNG(), "z"))
        tell(loaded.collect)
        tell(lambda: loaded.register(ndd.random.RNG()))
        tell(lambda: loaded.register(ndd.random.RNG()))
        tell(loaded.restore)
        for text in ("{}", '{"version": 1, "states": {}}', '{"version": 2, "states": {"a": 1}}', "x"):
            tell(lambda text=text: loaded.deserialize(text))
        other = ndd.checkpoint.Checkpoint()
        tell(lambda: other.set_state("a", str(first.state), "File"))
        tell(lambda: other.register(first, "a"))
        tell(lambda: other.set_state("a", 1, 3))
        other.clear()
        tell(lambda: (len(other), other.is_complete, len(ndd.checkpoint.current())))
        tell(lambda: other.register(ndd.random.RNG(), "q"))
        tell(lambda: other.register(ndd.random.RNG(seed=1), "q"))
        tell(other.restore)
        tell(lambda: other.set_state("z", 1))
        tell(other.collect)
        tell(other.restore)
        return found

    assert used(ours) == used(theirs)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for index in range(7):
        cv2.imwrite(str(tmp_path / f"{index}.png"), picture(9 + index, 12, seed=index))
    return tmp_path


def test_a_program_that_was_stopped_goes_on(folder: Path, tmp_path: Path) -> None:
    def made() -> tuple[Any, Any, Any]:
        files = sorted(map(str, folder.glob("*.png")))
        reader = ours.readers.File(files=files, random_shuffle=True, seed=3)
        generator, saved = ours.random.RNG(seed=5), ours.checkpoint.Checkpoint()
        return reader, generator, saved

    def step(batch: Any, generator: Any) -> Any:
        data, labels = batch
        noisy = ours.noise.gaussian(ours.decoders.image(data), stddev=9.0, rng=generator)
        return [np.asarray(each).tobytes() for each in (*noisy.tensors, *labels.tensors)]

    reader, generator, saved = made()
    saved.register(reader, "reader")
    saved.register(generator, "generator")
    epoch = reader.next_epoch(batch_size=2)
    step(next(epoch), generator)
    saved.collect()
    saved.save(f"{tmp_path}/{{seq}}.json")
    rest = [step(batch, generator) for batch in epoch]
    reader, generator, loaded = made()
    loaded.load(f"{tmp_path}/{{seq}}.json")
    loaded.register(reader, "reader")
    loaded.register(generator, "generator")
    again = [step(batch, generator) for _, batch in zip(rest, reader.next_epoch(batch_size=2), strict=False)]
    assert again == rest


def test_loops_that_nvidia_dali_captures(folder: Path) -> None:
    def read(ndd: Any) -> list[Any]:
        reader = ndd.readers.File(files=sorted(map(str, folder.glob("*.png"))))
        ndd.random.set_seed(3)
        found = []
        for _ in range(2):
            for data, labels in reader.next_epoch(batch_size=3, capture=True):
                shares = ndd.random.uniform(range=(0.0, 1.0), batch_size=ndd.capture.invariant(3))
                pictures = ndd.decoders.image(data)
                found += [
                    [np.asarray(each).tobytes() for each in batch.tensors] for batch in (labels, shares, pictures)
                ]
        return found

    assert read(ours) == read(theirs)
    with pytest.raises(ValueError, match="requires a non-None batch_size"):
        ours.readers.File(file_root=str(folder)).next_epoch(capture=True)


def test_streams() -> None:
    for ndd in (ours, theirs):
        ndd.set_current_stream(None)
        assert ndd.get_current_stream() is ndd.get_default_stream() is None
    one, other = ours.stream(device_id=0), ours.Stream()
    assert one == one.handle and one != other and one.device_id == other.device_id == 0
    assert one.__cuda_stream__() == (0, one.handle) and ours.stream(stream=one) is one
    assert ours.stream(stream=1) == 1 and ours.stream(stream=None) is None
    ours.set_default_stream(one)
    assert ours.get_current_stream() is one and ours.EvalContext(cuda_stream=other).cuda_stream is other
    ours.set_current_stream(7)
    assert ours.get_current_stream() == 7 and ours.EvalContext.current().cuda_stream == 7
    ours.set_current_stream(None)
    ours.set_default_stream(None)
    assert ours.get_current_stream() is None
    for wrong, error in ((None, ValueError), ("a", TypeError)):
        with pytest.raises(error):
            ours.Stream(stream=wrong)
    with pytest.raises(ValueError, match="doesn't match"):
        ours.stream(stream=one, device_id=1)


def test_threads() -> None:
    for ndd in (ours, theirs):
        ndd.set_num_threads(3)
        assert ndd.get_num_threads() == 3
        for wrong, error in ((0, ValueError), ("a", TypeError), (10**6, ValueError)):
            with pytest.raises(error):
                ndd.set_num_threads(wrong)
        ndd.set_num_threads(None)
    assert ours.EvalContext.current().checkpoint is ours.checkpoint.current()


def test_names_of_arguments() -> None:
    def computed(ndd: Any) -> str:
        number = ndd.tensor(4.0)
        return repr(
            [ndd.math.sqrt(input=number), ndd.math.clamp(number, hi=3, lo=1), ndd.math.max(left=1, right=number)]
        )

    assert computed(ours) == computed(theirs)
    assert ours.readers.TFRecord.__name__ == theirs.readers.TFRecord.__name__
