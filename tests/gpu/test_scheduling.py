"""Order on the emulated device: streams that run late, races that are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn
from dali_lab.device import transfer
from dali_lab.device.emulated import EmulatedDevice, EmulatedStream, RaceError
from dali_lab.device.launcher import Launcher
from dali_lab.device.transfer import download, upload
from dali_lab.executor import placement
from dali_lab.kernels.cuda import color, copy
from dali_lab.model.batch import Batch
from tests.gpu.transfers import both_ways, small_batch


def test_work_runs_only_when_it_is_waited_for() -> None:
    device = EmulatedDevice()
    stream = device.stream("compute")
    with Launcher(stream) as gpu:
        data = gpu.upload(small_batch())
        out = gpu.batch(data.shapes, data.dtype, "HWC")
        copy.copy(gpu, data.addresses, out.addresses, data.sizes, 1)
    place = int(out.addresses[0])
    assert (device.host(place, 75) == 0xCB).all()
    stream.synchronize()
    assert (device.host(place, 75).reshape(5, 5, 3) == small_batch().array(0)).all()


def test_a_forgotten_event_is_a_race() -> None:
    device = EmulatedDevice()
    data = upload(small_batch(), device)
    with Launcher(device.stream("compute")) as gpu:
        # Not told to use the batch: nothing orders the upload on the other stream before this kernel.
        out = gpu.batch(data.shapes, data.dtype, "HWC")
        copy.copy(gpu, data.addresses, out.addresses, data.sizes, 1)

    # Whichever of the two runs second meets the other.
    def run_both() -> None:
        device.stream("compute").synchronize()
        device.stream("transfer").synchronize()

    with pytest.raises(RaceError, match="no event puts them in order"):
        run_both()


def test_the_same_work_with_the_event_is_none() -> None:
    device = EmulatedDevice()
    data = upload(small_batch(), device)
    with Launcher(device.stream("compute")) as gpu:
        gpu.use(data)
        out = gpu.batch(data.shapes, data.dtype, "HWC")
        copy.copy(gpu, data.addresses, out.addresses, data.sizes, 1)
    assert (download(out).array(2) == small_batch().array(2)).all()


def test_descriptors_of_all_launches_travel_in_one_upload() -> None:
    device = EmulatedDevice()
    with Launcher(device.stream("compute")) as gpu:
        data = gpu.upload(small_batch())
        factor, offset = np.ones(3, np.float32), np.zeros(3, np.float32)
        for _ in range(5):
            out = gpu.batch(data.shapes, data.dtype, "HWC")
            color.scale(gpu, data.addresses, out.addresses, data.sizes, factor, offset, np.uint8, np.uint8)
            data = out
    assert (gpu.launches, gpu.uploads) == (5, 1)
    assert (download(data).array(0) == small_batch().array(0)).all()


def test_a_graph_with_transfers_both_ways_gives_what_the_cpu_gives() -> None:
    emulated, plain = both_ways("emulated"), both_ways("never")
    for _ in range(5):
        for ours, theirs in zip(emulated.run(), plain.run(), strict=True):
            assert (ours.as_cpu().as_array() == theirs.as_cpu().as_array()).all()
    assert [type(output).__name__ for output in emulated.run()] == ["TensorListGPU", "TensorListGPU", "TensorListCPU"]
    statistics = emulated.executor_statistics()
    assert statistics["normal"]["gpu_memory"] == 4 * 24 * 24 * 3 * 4
    assert statistics["normal"]["gpu_seconds"] > 0
    assert "gpu_seconds" not in statistics["on_cpu"]
    memory = emulated.gpu_memory()
    assert memory is not None and "normal" in memory["table"] and memory["in_use"] > 0
    assert plain.gpu_memory() is None


def test_the_fused_resize_and_normalise_is_one_launch() -> None:
    def make(gpu: str, optimize: bool) -> Pipeline:
        place = "cpu" if gpu == "never" else "gpu"
        pipeline = Pipeline(3, 1, 0, seed=5, gpu=gpu, optimize=optimize)
        with pipeline:
            images = fn.external_source(source=lambda: [np.full((30, 40, 3), 99, np.uint8)] * 3, layout="HWC")
            small = fn.resize(images.gpu() if place == "gpu" else images, size=(16, 20), device=place)
            out = fn.crop_mirror_normalize(small, crop=(12, 12), mean=[100.0], std=[50.0], device=place)
            pipeline.set_outputs(out)
        pipeline.build()
        return pipeline

    pipeline = make("emulated", True)
    assert pipeline._runner is not None
    assert [len(stage.steps) for stage in pipeline._runner.plan.stages if stage.gpu] == [1]
    expected = make("never", False).run()[0].as_array()
    for made in (pipeline, make("emulated", False)):
        assert (made.run()[0].as_cpu().as_array() == expected).all()


def test_decoding_has_a_stream_of_its_own() -> None:
    from dali_lab.operators.decoders.image import sample_files

    files = sample_files()[:2]

    def make(gpu: str, place: str) -> Pipeline:
        pipeline = Pipeline(2, 1, 0, seed=5, gpu=gpu)
        with pipeline:
            images = fn.decoders.image(fn.external_source(source=lambda: files), device=place, name="decode")
            pipeline.set_outputs(fn.flip(images), images)
        pipeline.build()
        return pipeline

    emulated = make("emulated", "mixed")
    assert emulated._runner is not None
    stages = [(stage.gpu, stage.steps[0].stream) for stage in emulated._runner.plan.stages]
    assert stages[-2:] == [(True, "decode"), (True, "compute")]
    for ours, theirs in zip(emulated.run(), make("never", "cpu").run(), strict=True):
        for index in range(2):
            assert (ours.as_cpu().at(index) == theirs.as_cpu().at(index)).all()


def test_a_corrupt_picture_is_reported_with_its_number() -> None:
    from dali_lab.operators.decoders.image import sample_files

    good = sample_files()[0]
    pipeline = Pipeline(2, 1, 0, gpu="emulated")
    with pipeline:
        encoded = fn.external_source(source=lambda: [good, good[:300]])
        pipeline.set_outputs(fn.decoders.image(encoded, device="mixed"))
    with pytest.raises(dali_lab.DaliLabError, match="sample 1"):
        pipeline.run()


def test_a_kernel_of_the_user_in_cpp_and_as_a_function() -> None:
    from dali_lab.plugin import cuda

    cuda.register(
        "add_rows",
        source="""
        __device__ void add_rows(const Sample& s, i64 i) {
            const int width = s.in0_shape[1];
            float total = s.numbers[0];
            for (int x = 0; x < width; ++x) total += s.in0[i * width + x];
            s.out[i] = total;
        }
    """,
    )

    def double(outputs: list[Any], inputs: list[Any], numbers: Any) -> None:
        for out, data in zip(outputs[0], inputs[0], strict=True):
            out[...] = data * 2

    cuda.register("double", function=double)
    data = [np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((3, 2), np.float32)]
    for mode, place in (("emulated", "gpu"), ("never", "cpu")):
        pipeline = Pipeline(2, 1, 0, gpu=mode)
        with pipeline:
            source = fn.external_source(source=lambda: data)
            given = source.gpu() if place == "gpu" else source
            rows = fn.experimental.cuda_kernel(given, kernel="add_rows", shape=[3], numbers=[0.5], device=place)
            twice = fn.experimental.cuda_kernel(given, kernel="double", device=place)
            pipeline.set_outputs(rows, twice)
        rows_made, twice_made = (output.as_cpu() for output in pipeline.run())
        for index, array in enumerate(data):
            assert np.array_equal(rows_made.at(index), array.sum(axis=1) + 0.5)
            assert np.array_equal(twice_made.at(index), array * 2)
        pipeline.close()


def test_a_run_tells_time_memory_and_transfers() -> None:
    from dali_lab.studio.measuring import measure

    pipeline = both_ways("emulated")
    told = measure(pipeline, 6)
    pipeline.close()
    assert told.gpu is not None
    assert told.nodes["normal"].gpu_time_ms > 0
    assert told.nodes["normal"].gpu_memory == 4 * 24 * 24 * 3 * 4
    assert told.nodes["on_cpu"].gpu_time_ms is None
    ways = {(row.source, row.to): row.bytes for row in told.gpu.transfers}
    assert ways["on_cpu", "gpu"] == 4 * 24 * 24 * 3
    assert "cpu" in {to for _, to in ways}
    assert told.gpu.memory.total > told.gpu.memory.held > 0


def test_nothing_on_the_way_waits_for_the_device() -> None:
    pipeline = Pipeline(2, 1, 0, gpu="emulated", prefetch_queue_depth=3)
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((2, 9, 9, 3), np.uint8), layout="HWC")
        pipeline.set_outputs(fn.brightness_contrast(fn.flip(images.gpu()), brightness=2.0))
    compute = placement.find_device("emulated").stream("compute")
    compute.synchronize()
    outputs = [pipeline.run()[0] for _ in range(4)]
    # Batches were handed out, and others started, while none of their work has run yet.
    assert isinstance(compute, EmulatedStream)
    kernels = [work for work, event in compute.queue if work is not None]
    assert len(kernels) >= 4 * 2
    assert all((output.as_cpu().as_array() == 2).all() for output in outputs)
    pipeline.close()


def test_copies_of_a_batch_overlap_with_kernels_of_the_batch_before() -> None:
    device = placement.find_device("emulated")
    assert isinstance(device, EmulatedDevice)
    device.stream("compute").synchronize()
    count = 8
    pipeline = Pipeline(2, 2, 0, gpu="emulated", prefetch_queue_depth=3)
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((2, 300, 300, 3), np.uint8), layout="HWC").gpu()
        pipeline.set_outputs(fn.gaussian_blur(fn.brightness_contrast(fn.flip(images), brightness=2.0), sigma=1.0))
    device.trace = []
    outputs = [pipeline.run()[0] for _ in range(count)]
    trace, device.trace = device.trace, None
    copies = [work for work in trace if work.stream.name == "upload" and work.what == "an upload"]
    first = [work for work in trace if work.what.startswith("gather")]
    assert min(len(copies), len(first)) >= count
    for number in range(1, count):
        assert first[number].after(copies[number]), "kernels wait for the copies of their batch"
        assert not copies[number].after(first[number - 1]), "copies wait for kernels of the batch before"
    assert all((output.as_cpu().as_array() == 2).all() for output in outputs)
    held = device.arena.held
    for _ in range(30):
        outputs = list(pipeline.run())
    assert device.arena.held == held, "memory for being ahead is bounded"
    pipeline.close()


def test_sequences_keep_their_frames_together_where_each_sample_is_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    device = EmulatedDevice(exact=True)
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: device)
    rng = np.random.default_rng(2)
    videos = [rng.integers(0, 255, (count, 6, 5, 3)).astype(np.uint8) for count in (1, 3, 2)]
    pipeline = Pipeline(3, 1, 0, gpu="emulated")
    with pipeline:
        frames = fn.external_source(source=lambda: videos, layout="FHWC").gpu()
        pipeline.set_outputs(fn.flip(fn.brightness_contrast(frames, brightness=1.0)))
    output = pipeline.run()[0].as_cpu()
    for index, video in enumerate(videos):
        assert (output.at(index) == video[:, :, ::-1]).all()
    pipeline.close()


@pytest.mark.parametrize("part", [1, 7, 64, 1000])
def test_a_batch_comes_back_in_parts(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(transfer, "_PART", part)
    device = EmulatedDevice()
    rng = np.random.default_rng(3)
    arrays = [rng.integers(0, 255, size).astype(np.uint8) for size in (40, 0, 3, 250)]
    there = upload(Batch.of(arrays), device)
    order = [3, 0, 1, 2]
    back = download(there.take(order))
    assert all((back.array(place) == arrays[index]).all() for place, index in enumerate(order))
    assert device.slots, "pinned memory is kept for the next copy"
