"""Pictures that a decoder leaves to the resize behind it: where, with the same bits, and with the decoder's errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab import Pipeline, fn, types
from dali_lab.errors import SampleError
from dali_lab.executor import pace
from dali_lab.executor.plan import make_plan
from dali_lab.executor.pool import ThreadPool
from dali_lab.graph.passes import optimized
from dali_lab.kernels.cpu import decode_resize, resample_planes
from dali_lab.schema.samples import picture
from tests.programs import LIMIT

Array = np.ndarray[Any, Any]
Definition = Callable[[Any], Any]

SIZES = [(60, 81), (97, 64), (70, 70), (64, 128), (333, 400)]
JPEG = [cv2.imencode(".jpg", picture(*size, seed=seed))[1].reshape(-1) for seed, size in enumerate(SIZES)]
MIXED = [*JPEG[:3], cv2.imencode(".png", picture(50, 60))[1].reshape(-1), JPEG[4]]
GRAY = [*JPEG[:4], cv2.imencode(".jpg", picture(50, 60, 1))[1].reshape(-1)]


def build(define: Definition, files: list[Array], *, optimize: bool = True, pipelined: bool = True) -> Pipeline:
    pipeline = Pipeline(len(files), 2, None, seed=5, optimize=optimize, exec_pipelined=pipelined)
    with pipeline:
        outputs = define(fn.external_source(source=lambda: files))
        pipeline.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    pipeline.build()
    return pipeline


def normalize(images: Any, **more: Any) -> Any:
    return fn.crop_mirror_normalize(images, mean=(120.0, 110.0, 100.0), std=(50.0, 60.0, 70.0), **more)


def training(x: Any) -> Any:
    return normalize(fn.resize(fn.decoders.image_random_crop(x), size=48), mirror=fn.random.coin_flip())


TAKEN: list[Definition] = [
    training,
    lambda x: normalize(fn.resize(fn.decoders.image(x), resize_shorter=64), crop=(56, 48)),
    lambda x: normalize(fn.random_resized_crop(fn.decoders.image(x, output_type=types.BGR), size=48)),
    lambda x: normalize(fn.resize(fn.decoders.image_crop(x, crop=(50, 44)), size=(40, 48)), output_layout="HWC"),
    lambda x: normalize(fn.resize(fn.decoders.image(x, use_fast_idct=True), size=48), dtype=types.FLOAT16),
    lambda x: normalize(fn.resize(fn.decoders.image(x), size=48), pad_output=True),
    lambda x: normalize(fn.resize(fn.decoders.image(x), size=48), crop=(60, 60), out_of_bounds_policy="pad"),
    lambda x: normalize(fn.resize(fn.decoders.image(x), resize_x=fn.random.uniform(range=(40.0, 300.0)))),
    lambda x: tuple(fn.resize(fn.decoders.image(x), size=48, save_attrs=True)),
    lambda x: fn.resize(fn.decoders.image(x), size=(80, 20), dtype=types.FLOAT),
    lambda x: fn.random_resized_crop(fn.decoders.image(x), size=(40, 36), random_area=(0.1, 0.5)),
    lambda x: fn.resize_crop_mirror(fn.decoders.image(x), resize_shorter=64, crop=(40, 36), mirror=3),
    lambda x: fn.resize(fn.decoders.image(x), size=(48, -40), roi_start=(20, 10), roi_end=(50, 60)),
]
KEPT: list[Definition] = [
    lambda x: (lambda y: (y, normalize(fn.resize(y, size=48))))(fn.decoders.image(x)),
    lambda x: (lambda y: (normalize(fn.resize(y, size=48)), fn.flip(y)))(fn.decoders.image(x)),
    lambda x: normalize(fn.resize(fn.permute_batch(fn.decoders.image(x), indices=[4, 3, 2, 1, 0]), size=48)),
]


def deferring(pipeline: Pipeline) -> list[str]:
    return [step.node.op for step in make_plan(optimized(pipeline.graph)).steps() if step.taker]


def assert_same(define: Definition, files: list[Array]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_resize, "ready", lambda: False)
        plain = build(define, files, optimize=False)
        expected = [plain.run() for _ in range(2)]
    fast = build(define, files)
    for outputs in expected:
        for left, right in zip(outputs, fast.run(), strict=True):
            for index in range(len(left)):
                np.testing.assert_array_equal(np.asarray(left[index]), np.asarray(right[index]))


@pytest.mark.parametrize("define", TAKEN)
@pytest.mark.parametrize("files", [JPEG, MIXED, GRAY], ids=["jpeg", "mixed", "gray"])
def test_left_to_the_resize(define: Definition, files: list[Array]) -> None:
    assert len(deferring(build(define, files))) == 1
    assert_same(define, files)


@pytest.mark.parametrize("define", KEPT)
def test_decoded_where_others_look(define: Definition) -> None:
    assert not deferring(build(define, JPEG))
    assert_same(define, JPEG)


@pytest.mark.skipif(not resample_planes.AVAILABLE, reason="this processor has no AVX-512")
def test_training_goes_through_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    both = decode_resize.decode_resize

    def noted(*arguments: Any, **more: Any) -> Any:
        done.append(both(*arguments, **more))
        return done[-1]

    monkeypatch.setattr(decode_resize, "decode_resize", noted)
    pipeline = build(training, JPEG)
    pipeline.run()
    assert np.concatenate(done).any()


def test_a_damaged_file_is_the_decoders(tmp_path: Path) -> None:
    for index, data in enumerate(JPEG):
        (tmp_path / f"{index}.jpg").write_bytes(data[: 600 if index == 3 else None].tobytes())
    files = [str(tmp_path / f"{index}.jpg") for index in range(len(JPEG))]
    pipeline = Pipeline(len(files), 1, None, seed=5)
    with pipeline:
        encoded, _ = fn.readers.file(files=files)
        images = fn.decoders.image(encoded, name="Decoder")
        pipeline.set_outputs(normalize(fn.resize(images, size=48), name="Last"))
    pipeline.build()
    line = pipeline.graph.nodes["Decoder"].origin
    with pytest.raises(SampleError) as caught:
        pipeline.run()
    error = caught.value
    assert (error.node, error.operator, error.sample) == ("Decoder", "decoders.image", 3)
    assert error.source == files[3]
    assert error.origin == line != pipeline.graph.nodes["Last"].origin


def test_time_is_the_decoders() -> None:
    pipeline = build(lambda x: normalize(fn.resize(fn.decoders.image(x, name="D"), size=48), name="N"), JPEG)
    pipeline.run()
    table = pipeline.executor_statistics()
    assert table["D"]["seconds"] > 0
    assert table["N"]["seconds"] > 0


@pytest.mark.skipif(not resample_planes.AVAILABLE, reason="this processor has no AVX-512")
def test_threads_that_share_a_chunk_make_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    helped = []
    plain = build(training, JPEG * 6, optimize=False, pipelined=False)
    expected = [plain.run()[0].as_array() for _ in range(3)]
    share = ThreadPool.share

    def waiting(pool: ThreadPool, work: Callable[[], object], part: Callable[[], bool]) -> float:
        begun = threading.Event()

        def noted() -> bool:
            try:
                return part()
            finally:
                begun.set()

        def after_another() -> None:
            helped.append(begun.wait(LIMIT))
            work()

        return share(pool, after_another, noted)

    monkeypatch.setattr(ThreadPool, "share", waiting)
    monkeypatch.setattr(pace, "_WORTH_HELP", 1e-9)
    pipeline = build(training, JPEG * 6, pipelined=False)  # threads with two batches would wait for each other
    assert pipeline._runner is not None
    pipeline._runner.engine.chunks.size = 30
    for result in expected:
        np.testing.assert_array_equal(pipeline.run()[0].as_array(), result)
    assert helped == [True] * 3
