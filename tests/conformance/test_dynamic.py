"""Operators outside of pipelines, in both engines: the same values, shapes, types, layouts and printed forms."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
import dali_lab.experimental.dynamic as ours
from dali_lab import types
from dali_lab.dynamic import evaluation
from dali_lab.errors import ArgumentError, DaliLabError, UnknownArgumentError
from dali_lab.graph.tracing import build_graph
from dali_lab.schema.samples import picture
from tests.together import with_each

theirs = pytest.importorskip("nvidia.dali.experimental.dynamic")

PICTURES = [picture(30, 40), picture(21, 17, seed=1), picture(8, 50, seed=2)]


def images(ndd: Any) -> Any:
    return ndd.batch(PICTURES, layout="HWC")


def numbers(ndd: Any) -> Any:
    return ndd.batch([np.arange(4, dtype=np.int16), np.arange(3, 9, dtype=np.int16)])


CASES: dict[str, Callable[[Any], Any]] = {
    "tensor of integers": lambda ndd: ndd.tensor([1, 2, 3]),
    "tensor of wide integers": lambda ndd: ndd.tensor([1, 1 << 31]),
    "tensor of floats": lambda ndd: ndd.tensor([[1.5, 2], [3, 4]], layout="HW"),
    "tensor of bools": lambda ndd: ndd.tensor([True, False]),
    "tensor of a type": lambda ndd: ndd.tensor([1, 2], dtype=ndd.uint8),
    "converted tensor": lambda ndd: ndd.tensor(np.array([1.7, -2.0, 300.0]), dtype=ndd.uint8),
    "type as function": lambda ndd: ndd.tensor(7, dtype=ndd.float64),
    "scalar": lambda ndd: ndd.tensor(3),
    "batch of arrays": images,
    "batch of one array": lambda ndd: ndd.as_batch(np.arange(6).reshape(2, 3)),
    "batch with a type": lambda ndd: ndd.batch([[1, 2], [3]], dtype=ndd.float16),
    "batch of numbers": lambda ndd: ndd.batch([1.5, 2, np.int16(3)]),
    "broadcast": lambda ndd: ndd.Batch.broadcast(ndd.tensor([1, 2]), 3),
    "tensor of a batch": lambda ndd: ndd.as_tensor(ndd.batch([[1, 2], [3, 4]])),
    "tensor of a padded batch": lambda ndd: ndd.as_tensor(numbers(ndd), pad=True),
    "sample": lambda ndd: images(ndd).tensors[1],
    "sliced samples": lambda ndd: images(ndd).slice[2:7, 3],
    "sliced by batches": lambda ndd: numbers(ndd).slice[ndd.batch([0, 2]) : ndd.batch([2, 5])],
    "index": lambda ndd: ndd.tensor(PICTURES[0], layout="HWC")[3],
    "range": lambda ndd: ndd.tensor(PICTURES[0], layout="HWC")[2:9, ..., 1],
    "range from the end": lambda ndd: ndd.tensor(np.arange(9))[-4:-1],
    "index by a tensor": lambda ndd: ndd.tensor(np.arange(9))[ndd.tensor(4)],
    "sum": lambda ndd: numbers(ndd) + numbers(ndd),
    "sum with a tensor": lambda ndd: numbers(ndd) + ndd.tensor(2.5),
    "sum with a number on the left": lambda ndd: 3 - numbers(ndd),
    "quotients": lambda ndd: (numbers(ndd) / 2, numbers(ndd) // 2, 7 % (numbers(ndd) + 1)),
    "comparisons": lambda ndd: (numbers(ndd) > 3, numbers(ndd) == 4, ~(numbers(ndd) != 4)),
    "bits": lambda ndd: (numbers(ndd) & 3, 5 | numbers(ndd), numbers(ndd) ^ 1, numbers(ndd) << 1),
    "signs": lambda ndd: (-numbers(ndd), +numbers(ndd), abs(numbers(ndd) - 4)),
    "functions": lambda ndd: (
        ndd.math.sqrt(numbers(ndd)),
        ndd.math.max(numbers(ndd), 4),
        ndd.math.atan2(2.0, ndd.tensor([1.0])),
    ),
    "resize": lambda ndd: ndd.resize(images(ndd), size=(12, 14)),
    "resize of a tensor": lambda ndd: ndd.resize(ndd.tensor(PICTURES[0], layout="HWC"), resize_shorter=11),
    "arguments of a batch": lambda ndd: ndd.rotate(images(ndd), angle=ndd.batch([10.0, 20.0, -30.0]), fill_value=7),
    "argument of a tensor": lambda ndd: ndd.brightness(images(ndd), brightness=ndd.tensor(1.25)),
    "argument of an array": lambda ndd: ndd.crop(images(ndd), crop=np.array([5, 6], np.float32)),
    "type as an argument": lambda ndd: ndd.cast(images(ndd), dtype=ndd.float32),
    "argument of integers": lambda ndd: ndd.resize(images(ndd), size=np.array([5, 6])),
    "argument of a batch of integers": lambda ndd: ndd.brightness(images(ndd), brightness=ndd.batch([1, 2, 3])),
    "computed argument": lambda ndd: ndd.rotate(images(ndd), angle=ndd.batch([1, 2, 3]) * 10),
    "functions of NumPy": lambda ndd: np.maximum(ndd.tensor([1, 5]), 3).tolist(),
    "arrays on the left": lambda ndd: [
        (type(each).__name__, each.tolist())
        for each in (np.arange(3) + ndd.tensor([1, 2, 3]), np.float32(2) * ndd.tensor(4))
    ],
    "number of NumPy and batch": lambda ndd: np.float32(2) * ndd.batch([[1, 2, 3, 4]]),
    "types in full": lambda ndd: [repr(ndd.dtype(each)) for each in (float, "u8", np.int16, ndd.float64, bool)],
    "batch of a batch": lambda ndd: [ndd.as_batch(each) is each for each in [images(ndd)]],
    "normalized": lambda ndd: ndd.crop_mirror_normalize(
        images(ndd), crop=(8, 8), mean=[1.0, 2, 3], std=[4.0, 5, 6], mirror=1
    ),
    "several inputs": lambda ndd: ndd.cat(numbers(ndd), numbers(ndd) + np.int16(1), axis=0),
    "no inputs": lambda ndd: ndd.zeros(shape=[2, 3], dtype=ndd.int32),
    "no inputs as a batch": lambda ndd: ndd.ones(shape=[2], batch_size=3),
    "transforms": lambda ndd: ndd.transforms.translation(ndd.transforms.scale(scale=(2.0, 3.0)), offset=(1.0, 1.0)),
    "reduction": lambda ndd: ndd.reductions.mean(images(ndd), axis_names="HW"),
    "several outputs": lambda ndd: ndd.nonsilent_region(ndd.batch([np.sin(np.arange(3000) / 9).astype(np.float32)])),
    "dtype of a library": lambda ndd: ndd.tensor([1, 2], dtype=ndd.dtype(np.dtype("int8"))),
    "names of types": lambda ndd: (str(ndd.float32), str(ndd.uint8), str(ndd.bool), ndd.float16.exponent_bits),
    "numbers of a generator": lambda ndd: [generator() for generator in [ndd.random.RNG(seed=7)] for _ in range(9)],
    "state of a generator": lambda ndd: advanced(ndd).state.__str__(),
    "clone of a generator": lambda ndd: advanced(ndd).clone()(),
    "devices": lambda ndd: (str(ndd.device("cpu")), ndd.Device("cpu") == ndd.Device.CPU),
    "devices of DLPack": lambda ndd: (
        str(ndd.Device.from_dlpack(np.zeros(3))),
        ndd.Device.type_from_dlpack(2),
        ndd.Device.default_device_id("cpu"),
    ),
}


def advanced(ndd: Any) -> Any:
    generator = ndd.random.RNG(seed=1 << 60)
    generator()
    generator.advance(1001)
    return generator


def described(value: Any) -> Any:
    """A value in comparable form: all properties of tensors and batches, and other values as they are."""
    if isinstance(value, (tuple, list)):
        return [described(each) for each in value]
    if isinstance(value, (ours.Tensor, theirs.Tensor)):
        return (
            np.asarray(value).tobytes(),
            value.shape,
            str(value.dtype),
            value.layout or "",
            str(value.device),
            repr(value),
        )
    if isinstance(value, (ours.Batch, theirs.Batch)):
        rows = [np.asarray(each).tobytes() for each in value.tensors]
        shapes = [tuple(each) for each in value.shape]
        return rows, shapes, str(value.dtype), value.layout or "", str(value.device), repr(value)
    return value


@pytest.mark.parametrize("name", CASES)
def test_same_as_nvidia_dali(name: str) -> None:
    assert described(CASES[name](ours)) == described(CASES[name](theirs))


@with_each("name", CASES)
def test_deferred_calls_give_the_same(name: str) -> None:
    now = described(CASES[name](ours))
    with ours.EvalMode.deferred:
        later = CASES[name](ours)
    assert described(later) == now


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    for index in range(10):
        place = root / f"{index % 3}"
        place.mkdir(exist_ok=True)
        cv2.imwrite(str(place / f"{index}.png"), picture(9 + index, 12, seed=index))
    return root


@pytest.mark.parametrize("size", [None, 1, 4])
@pytest.mark.parametrize(
    "options", [{}, {"random_shuffle": True, "seed": 5}, {"num_shards": 3, "shard_id": 1}, {"pad_last_batch": True}]
)
def test_epochs_of_a_reader(folder: Path, size: int | None, options: dict[str, Any]) -> None:
    def read(ndd: Any) -> list[Any]:
        reader = ndd.readers.File(file_root=str(folder), **options)
        return [
            [described((ndd.decoders.image(data), label)) for data, label in reader.next_epoch(batch_size=size)]
            for _ in range(3)
        ]

    assert read(ours) == read(theirs)


def test_paths(folder: Path) -> None:
    paths = sorted(folder.rglob("*.png"))
    assert described(ours.imread(paths[0])) == described(theirs.imread(paths[0]))
    several = ours.imread([str(path) for path in paths], output_type=types.GRAY)
    expected = theirs.imread(
        [str(path) for path in paths], output_type=importlib.import_module("nvidia.dali.types").GRAY
    )
    assert described(several) == described(expected)


def test_the_same_state_draws_the_same() -> None:
    def draw(generator: Any) -> Any:
        first = ours.random.uniform(range=(0.0, 1.0), shape=[5], batch_size=3, rng=generator)
        return described([first, ours.random.normal(shape=[4], rng=generator)])

    generator = ours.random.RNG(seed=3)
    copy = generator.clone()
    first = draw(generator)
    assert draw(copy) == first
    assert draw(generator) != first
    ours.random.set_seed(9)
    one = described(ours.random.coin_flip(batch_size=50))
    ours.random.set_seed(9)
    assert described(ours.random.coin_flip(batch_size=50)) == one


def test_deferred_calls_run_as_one_graph_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: list[Any] = []

    def built(slots: Any) -> Any:
        graphs.append(build_graph(slots))
        return graphs[-1]

    monkeypatch.setattr(evaluation, "build_graph", built)
    with ours.EvalMode.deferred:
        small = ours.resize(images(ours), size=(9, 9))
        bright = ours.brightness(small, brightness=1.5)
        unused = ours.flip(small)
        del unused
        assert not graphs
        assert bright.shape == [(9, 9, 3)] * 3
        assert small.shape == [(9, 9, 3)] * 3
        assert len(graphs) == 1
        assert {node.op for node in graphs[0].nodes.values()} == {"external_source", "resize", "brightness"}


def test_threads_of_a_context() -> None:
    expected = described(ours.resize(images(ours), size=(9, 9)))
    with ours.EvalContext(num_threads=3) as context:
        assert ours.EvalContext.current() is context
        assert described(ours.resize(images(ours), size=(9, 9))) == expected
    with ours.EvalContext(num_threads=1), ours.EvalMode.deferred:
        waiting = ours.resize(images(ours), size=(9, 9))
    assert waiting.slot.batch is not None
    with pytest.raises(ValueError, match="The number of threads must be positive; got 0"):
        ours.set_num_threads(0)


def test_inputs_say_how_many_samples_there_are() -> None:
    # NVIDIA DALI 2.4 leaves batch_size aside where an input is a batch.
    expected = described(ours.flip(images(ours)))
    for size in (1, 3, 64):
        assert described(ours.flip(images(ours), batch_size=size)) == expected
    assert ours.flip(PICTURES[0], batch_size=5).batch_size == 5
    with pytest.raises(ValueError, match="Inconsistent batch size: 3 != 2"):
        ours.random.uniform(range=ours.batch([[0.0, 1.0]] * 2), batch_size=3)


def test_parts_of_a_batch() -> None:
    # NVIDIA DALI 2.4 makes a batch of the first samples of these.
    for which in ([2, 0], slice(1, None), slice(None, None, 2)):
        part = images(ours).select(which)
        expected = [PICTURES[index] for index in (which if isinstance(which, list) else range(3)[which])]
        assert [np.asarray(each).tobytes() for each in part] == [each.tobytes() for each in expected]
    assert images(ours).select(...).batch_size == 3


def test_mistakes_are_named() -> None:
    with pytest.raises(OverflowError, match="out of the range of int32"):
        ours.tensor([-1, 1 << 40])
    with pytest.raises(UnknownArgumentError, match="did you mean 'size'"):
        ours.resize(images(ours), siz=3)
    with pytest.raises(ValueError, match="Inconsistent batch size: 2 != 3"):
        ours.cat(images(ours), numbers(ours))
    with pytest.raises(ValueError, match="Inconsistent batch size: 3 != 2"):
        ours.cat(numbers(ours), images(ours))
    with pytest.raises(DaliLabError, match="no layout"):
        ours.resize(np.zeros((3, 3), np.uint8), size=2)
    with pytest.raises(ValueError, match="has another type"):
        ours.batch([np.zeros(2, np.int8), np.full(2, 300, np.int16)])
    with pytest.raises(ValueError, match="the list is empty: give a dtype"):
        ours.batch([])
    with pytest.raises(ValueError, match="`batch_size` must be specified for dynamic `batch_permutation`"):
        ours.batch_permutation()
    reader = ours.readers.File(files=["some.jpg"])
    for read in (reader.next_epoch, reader, reader.get_metadata):
        with pytest.raises(ArgumentError, match="'batch_size': 0 is not a positive number"):
            read(batch_size=0)
    with pytest.raises(ValueError, match="non-uniform shape"):
        ours.as_tensor(images(ours))
    with pytest.raises(ValueError, match="4 elements"):
        ours.tensor([1, 2, 3, 4]).item()
    with pytest.raises(ValueError, match="Invalid device type"):
        ours.Device("tpu")
    with pytest.raises(ValueError, match="rng must be"):
        ours.random.uniform(range=(0.0, 1.0), rng=3)
    with pytest.raises(ArgumentError, match="runs on 'cpu'"):
        ours.io.file.read(np.zeros(3, np.uint8), device="gpu")
    with pytest.raises(ValueError, match="not the state"):
        ours.random.RNG(state="x")
    with pytest.raises(ValueError, match="on the CPU and on the GPU"):
        ours.tensor([1]) + ours.tensor([1], device="gpu")
    assert ours.resize(images(ours), size=3).shape == [(3, 3, 3)] * 3


def test_on_the_gpu_as_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = described(ours.brightness(ours.flip(images(ours)), brightness=1.5))
    monkeypatch.setenv("DALI_LAB_GPU", "emulated")
    with ours.EvalMode.deferred:
        there = ours.brightness(ours.flip(images(ours), device="gpu"), brightness=1.5)
    assert str(there.device) == "gpu:0"
    assert there.samples.device is not None
    assert described(there.cpu()) == expected
    with pytest.raises(TypeError, match=r"cpu\(\)"):
        np.asarray(there.tensors[0])
    eager = ours.brightness(ours.flip(images(ours), device="gpu"), brightness=1.5)
    assert described(eager.cpu()) == expected


def test_a_reader_goes_on_from_its_state(folder: Path) -> None:
    reader = ours.readers.File(file_root=str(folder), random_shuffle=True, seed=3, enable_checkpointing=True)
    epoch = reader.next_epoch(batch_size=2)
    next(epoch), next(epoch)
    state = reader.get_state()
    rest = [described(item) for item in epoch]
    for given in (state.encode("ascii"), state):
        other = ours.readers.File(file_root=str(folder), random_shuffle=True, seed=3, enable_checkpointing=True)
        other.set_state(given)
        assert [described(item) for _, item in zip(rest, other.next_epoch(batch_size=2), strict=False)] == rest
    assert other.get_metadata()["epoch_size"] == 10


def test_inside_of_pipelines() -> None:
    """In Python functions they are of use; nodes are not for them."""
    batch = np.stack([picture(12, 10)] * 2)

    def flipped(array: Any) -> Any:
        return np.asarray(ours.flip(ours.tensor(array, layout="HWC")))

    pipeline = dali_lab.Pipeline(2, 1, None)
    with pipeline:
        images = dali_lab.fn.external_source(source=lambda: batch, layout="HWC")
        pipeline.set_outputs(dali_lab.fn.python_function(images, function=flipped), dali_lab.fn.flip(images))
        with pytest.raises(DaliLabError, match="is a node of a pipeline"):
            ours.flip(images)
    left, right = pipeline.run()
    np.testing.assert_array_equal(left.as_array(), right.as_array())


def test_batches_go_where_those_of_pipelines_go() -> None:
    batch = images(ours)
    assert "<img" in dali_lab.show(batch)._repr_html_()
    pipeline = dali_lab.Pipeline(3, 1, None)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.flip(dali_lab.fn.external_source(name="data")))
    pipeline.build()
    pipeline.feed_input("data", batch)
    (flipped,) = pipeline.run()
    assert described(ours.as_batch(flipped)) == described(ours.flip(batch))
    assert described(ours.flip(flipped)) == described(batch)


def test_calls_of_a_reader(tmp_path: Path) -> None:
    for index in range(3):
        np.save(tmp_path / f"{index}.npy", np.arange(20 * index, 20 * index + 20).reshape(4, 5))

    def reader(ndd: Any) -> Any:
        return ndd.readers.Numpy(file_root=str(tmp_path), file_filter="*.npy")

    def read(ndd: Any) -> list[Any]:
        whole, regions = reader(ndd), reader(ndd)
        read = [whole() for _ in range(4)] + [regions(roi_start=start) for start in ([1, 2], [0, 3])]
        with pytest.raises(RuntimeError, match="Cannot mix `samples`, `batches` and `_run`/`__call__`"):
            list(whole.next_epoch())
        return [described(item) for item in read]

    assert read(ours) == read(theirs)
    pairs = reader(ours)  # NVIDIA DALI 2.4 refuses batches unless the reader was made for them
    assert pairs(batch_size=2, roi_start=ours.tensor([1, 2])).shape == [(3, 3), (3, 3)]
    with pytest.raises(RuntimeError, match="the first call gave the arguments"):
        pairs(batch_size=2)
