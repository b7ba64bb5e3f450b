"""On a GPU: every case against the CPU, decoding, other libraries' arrays and kernels. Part of ``pytest -m gpu``."""

from __future__ import annotations

import threading
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn
from dali_lab.codecs.backends.nvimgcodec_gpu import gpu_decoder
from dali_lab.plugin import cuda as user_kernels
from dali_lab.schema import Case, all_operators, samples
from tests.conformance.harness import compare
from tests.gpu.cases import cases_of, operators, place, run
from tests.gpu.real import MODE, SHARE, assert_alike, gpu, pipeline
from tests.unit.graph.test_color_chain import PICTURES, chain
from tests.unit.graph.test_expression_chain import random_expression
from tests.unit.graph.test_window_chain import chain as windows

LEVEL = 1.0
REAL = 2e-6
"""Real numbers may differ by this much of the largest one."""

FOUND = gpu()
CASES = [pytest.param(name, case, id=label) for name in operators() for label, case in cases_of(name)]
pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("name", "case"), CASES)
def test_agrees_with_the_cpu(name: str, case: Case) -> None:
    if place(name) == "mixed" and not FOUND.decodes:
        pytest.skip("nvImageCodec cannot decode on the GPU here")
    ours = run(name, case, MODE, place(name))
    theirs = run(name, case, "never", "cpu")
    operator = all_operators()[name]
    tolerance, share = operator.gpu_tolerance[0], max(SHARE, operator.gpu_share)
    for our_row, their_row in zip(ours, theirs, strict=True):
        for our_output, their_output in zip(our_row, their_row, strict=True):
            real = np.dtype(their_output["samples"][0].dtype).kind == "f" if their_output["samples"] else False
            largest = max((np.abs(s.astype(np.float64)).max(initial=0) for s in their_output["samples"]), default=0)
            decoded = place(name) == "mixed"
            allowed = (
                Case(tolerance=max(tolerance, REAL * largest))
                if real
                else Case(tolerance=max(LEVEL, tolerance), fraction=share)
            )
            if decoded:  # another decoder: its inverse transform and its chroma differ by a few levels
                allowed = Case(tolerance=24.0, fraction=0.02)
            compare([[our_output]], [[their_output]], allowed)


@pytest.mark.parametrize("number", range(6))
def test_fused_operators_agree_with_the_plain_ones(number: int) -> None:
    rows = []
    for mode, optimize in ((MODE, True), ("never", False)):
        made = Pipeline(len(PICTURES), 2, 0, seed=5, gpu=mode, optimize=optimize)
        with made:
            images = fn.external_source(source=lambda: PICTURES, layout="HWC")
            made.set_outputs(chain(number)(images if mode == "never" else images.gpu()))
        rows.append(made.run()[0].as_cpu())
        made.close()
    for index in range(len(PICTURES)):
        difference = np.abs(np.asarray(rows[0].at(index)).astype(int) - np.asarray(rows[1].at(index)))
        assert difference.max() <= 1


@pytest.mark.parametrize("define", [random_expression(number) for number in (1, 4, 8)] + [windows(2)])
def test_generated_kernels_have_the_bits_of_the_operators_in_turn(define: Any) -> None:
    rows = []
    for optimize in (True, False):
        made = Pipeline(4, 2, 0, seed=5, gpu=MODE, optimize=optimize)
        with made:
            pictures = [samples.noise((40, 45, 3), np.uint8, seed) for seed in range(4)]
            images = fn.external_source(source=lambda: pictures, layout="HWC").gpu()  # noqa: B023
            made.set_outputs(define(images, images) if "expression" in define.__qualname__ else define(images))
        rows.append(made.run()[0].as_cpu())
        made.close()
    for index in range(4):
        np.testing.assert_array_equal(rows[0].at(index), rows[1].at(index), strict=True)


def test_many_batches_agree_while_memory_is_used_again() -> None:
    ours, theirs = pipeline(64, 8), pipeline(64, 8, "never")
    for _ in range(30):
        assert_alike(ours.run()[0].as_cpu().as_array(), theirs.run()[0].as_array())
    ours.close()
    theirs.close()


def test_pipelines_of_several_threads_share_the_gpu() -> None:
    expected = [pipeline(64, 4, "never").run()[0].as_array() for _ in range(1)]
    failures: list[BaseException] = []

    def work() -> None:
        try:
            made = pipeline(64, 4)
            assert_alike(made.run()[0].as_cpu().as_array(), expected[0])
            for _ in range(20):
                made.run()
            made.close()
        except BaseException as error:  # told by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def _photographs(folder: Any, count: int = 12) -> list[str]:
    """Smooth JPEG pictures, whose chroma is the same however it is interpolated."""
    rng = np.random.default_rng(4)
    paths = []
    for index in range(count):
        small = rng.integers(0, 255, (4, 5, 3)).astype(np.uint8)
        picture = cv2.resize(small, (320 + 16 * index, 240), interpolation=cv2.INTER_CUBIC)
        paths.append(str(folder / f"{index:02}.jpg"))
        cv2.imwrite(paths[-1], picture, [cv2.IMWRITE_JPEG_QUALITY, 95])
    return paths


@pytest.mark.parametrize("operator", ["image", "image_random_crop"])
def test_jpeg_is_decoded_on_the_gpu_and_not_by_the_fall_back(operator: str, tmp_path: Any) -> None:
    decoder = gpu_decoder(FOUND, False)
    if decoder is None:
        pytest.skip("nvImageCodec cannot decode on the GPU here")
    paths = _photographs(tmp_path)
    before = decoder.decoded, decoder.refused
    rows = []
    for mode in (MODE, "never"):
        made = Pipeline(len(paths), 4, 0, seed=3, gpu=mode)
        with made:
            data, _ = fn.readers.file(files=paths)
            device = "cpu" if mode == "never" else "mixed"
            made.set_outputs(getattr(fn.decoders, operator)(data, device=device))
        rows.append(made.run()[0].as_cpu())
        made.close()
    assert decoder.decoded >= before[0] + len(paths), "decoded on the GPU"
    assert decoder.refused == before[1], "none was left to the CPU"
    for index in range(len(paths)):
        ours, theirs = (np.asarray(row.at(index)).astype(int) for row in rows)
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).mean() < 2


def test_a_damaged_picture_is_told_by_its_file_and_others_go_on(tmp_path: Any) -> None:
    if not FOUND.decodes:
        pytest.skip("nvImageCodec cannot decode on the GPU here")
    paths = _photographs(tmp_path, 4)
    (tmp_path / "02.jpg").write_bytes((tmp_path / "02.jpg").read_bytes()[:60])
    made = Pipeline(2, 2, 0, gpu=MODE)
    with made:
        made.set_outputs(fn.decoders.image(fn.readers.file(files=paths)[0], device="mixed"))
    assert len(made.run()[0]) == 2
    with pytest.raises(dali_lab.DaliLabError, match=r"02\.jpg"):
        made.run()
    assert len(made.run()[0]) == 2
    made.close()


def test_torch_gets_the_memory_itself_in_the_order_of_its_stream() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch was built without CUDA")
    from dali_lab.plugin.pytorch import DALIGenericIterator

    expected = pipeline(64, 8, "never")
    iterator = DALIGenericIterator(pipeline(64, 8), ["data"], size=80)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for row in iterator:
            data = row[0]["data"]
            assert data.is_cuda and data.shape == (8, 3, 64, 64)
            total = data.double().sum()  # on torch's stream, with no synchronisation before
            wanted = expected.run()[0].as_array().astype(np.float64).sum()
            assert abs(float(total) - wanted) <= 1e-4 * abs(wanted) + 8


def test_torch_trains_on_classes_of_files(tmp_path: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch was built without CUDA")
    from dali_lab.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        _photographs(tmp_path / label, 5)
    made = Pipeline(4, 4, 0, seed=3, gpu=MODE)
    with made:
        data, labels = fn.readers.file(file_root=str(tmp_path), name="Reader")
        images = fn.decoders.image(data, device="mixed" if FOUND.decodes else "cpu")
        images = images if FOUND.decodes else images.gpu()
        made.set_outputs(fn.resize(images, size=(32, 32)), labels)
    iterator = DALIClassificationIterator(made, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL)
    for _ in range(2):
        rows = [row[0] for row in iterator]
        assert [len(row["data"]) for row in rows] == [4, 4, 2]
        assert torch.cat([row["label"].cpu() for row in rows]).flatten().tolist() == [0] * 5 + [1] * 5
        assert all(row["data"].is_cuda for row in rows)
        iterator.reset()


def test_jax_gets_arrays_on_the_gpu() -> None:
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("jax has no GPU")
    from dali_lab.plugin.jax import DALIGenericIterator

    expected = pipeline(64, 8, "never")
    for row in DALIGenericIterator(pipeline(64, 8), ["data"], size=24):
        assert next(iter(row["data"].devices())).platform == "gpu"
        assert_alike(np.asarray(row["data"]), expected.run()[0].as_array())


def test_cupy_sees_the_memory_by_both_protocols() -> None:
    cupy = pytest.importorskip("cupy")
    tensor = pipeline(32, 4).run()[0].as_tensor()
    expected = np.array(tensor.as_cpu())
    assert (cupy.asnumpy(cupy.asarray(tensor)) == expected).all()
    assert (cupy.asnumpy(cupy.from_dlpack(tensor)) == expected).all()


class _DlpackAlone:
    """An array of CuPy without its other protocol."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("no_copy", [False, True])
@pytest.mark.parametrize("wrap", [lambda array: array, _DlpackAlone], ids=["interface", "dlpack"])
def test_arrays_of_cupy_come_in_by_both_protocols(wrap: Any, no_copy: bool) -> None:
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    slow = cupy.ones((2048, 2048), cupy.float32)
    made = Pipeline(4, 2, 0, gpu=MODE, prefetch_queue_depth=1)
    with made:
        images = fn.external_source(name="in", device="gpu", layout="HWC", no_copy=no_copy)
        made.set_outputs(fn.flip(images))
    made.build()
    for number in range(10):
        with stream:
            for _ in range(20):
                slow = slow @ slow * 1e-4  # the array is made late
            array = cupy.full((4, 60, 50, 3), number, cupy.uint8)
            made.feed_input("in", wrap(array))
            if not no_copy:
                array[...] = 77
        assert (made.run()[0].as_cpu().as_array() == number).all()
    made.close()


def test_functions_of_the_user_work_on_arrays_of_cupy() -> None:
    cupy = pytest.importorskip("cupy")

    def half(outputs: Any, inputs: Any, numbers: Any) -> None:
        for out, data in zip(outputs[0], inputs[0], strict=True):
            assert isinstance(data, cupy.ndarray)
            out[...] = data // 2

    user_kernels.register("half_of_it", function=half)
    made = Pipeline(2, 1, 0, gpu=MODE)
    with made:
        images = fn.external_source(source=lambda: np.full((2, 9, 8, 3), 40, np.uint8), layout="HWC").gpu()
        made.set_outputs(fn.flip(fn.experimental.cuda_kernel(images, kernel="half_of_it")))
    for _ in range(5):
        assert (made.run()[0].as_cpu().as_array() == 20).all()
    made.close()


def test_a_kernel_that_does_not_compile_is_told_of_its_node_and_the_gpu_goes_on() -> None:
    user_kernels.register("odd", source="__device__ void odd(const Sample& s, i64 i) { s.out[i] = nonsense; }")
    made = Pipeline(2, 1, 0, gpu=MODE)
    with made:
        images = fn.external_source(source=lambda: np.ones((2, 4, 4, 3), np.uint8), layout="HWC").gpu()
        made.set_outputs(fn.experimental.cuda_kernel(fn.flip(images), kernel="odd", name="mine"))
    with pytest.raises(dali_lab.DaliLabError, match=r"(?s)node 'mine'.*nonsense"):
        made.run()
    made.close()
    assert pipeline(32, 2).run()[0].as_cpu().as_array().shape == (2, 3, 32, 32)


def test_times_and_launches_are_told_of_each_node() -> None:
    made = pipeline(64, 8)
    for _ in range(5):
        made.run()[0].as_cpu()
    rows = [row for row in made.executor_statistics().values() if "gpu_seconds" in row]
    assert rows and all(row["gpu_seconds"] > 0 and row["gpu_launches"] == 1 for row in rows)
    made.close()
