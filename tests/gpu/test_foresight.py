"""Memory of a device is planned from what operators declare, before a batch was made, and corrected by batches seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, types
from dali_lab.device.emulated import EmulatedDevice
from dali_lab.executor import placement
from dali_lab.executor.foresight import Kind, foresee
from dali_lab.graph.graph import Edge
from dali_lab.operators.decoders.image import sample_files
from dali_lab.schema import Case
from tests.gpu import cases as gpu_cases

MIB = 1 << 20


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> EmulatedDevice:
    emulated = EmulatedDevice()
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: emulated)
    return emulated


def _training(**hints: int) -> Pipeline:
    pipeline = Pipeline(4, 1, 0, seed=3, gpu="emulated", prefetch_queue_depth=1)
    with pipeline:
        files = fn.external_source(source=lambda: (sample_files() * 2)[:4], name="files")
        images = fn.decoders.image(files, device="mixed", name="pictures", **hints)
        images = fn.random_resized_crop(images, size=(64, 96), name="crops", device="gpu")
        images = fn.rotate(images, angle=fn.random.uniform(range=(-9.0, 9.0)), keep_size=True, name="turned")
        mirror = fn.random.coin_flip()
        pipeline.set_outputs(fn.crop_mirror_normalize(images, mirror=mirror, mean=[9.0], std=[2.0], name="numbers"))
    pipeline.build()
    return pipeline


def _rows(pipeline: Pipeline) -> dict[str, tuple[int, bool]]:
    memory = pipeline._built().engine.device.memory
    return {row.edge.node: (row.nbytes, row.seen) for row in memory.table().rows}


def test_what_follows_from_arguments_is_known_before_the_first_batch(device: EmulatedDevice) -> None:
    pipeline = _training()
    declared = _rows(pipeline)
    sizes = 4 * 64 * 96 * 3
    # The passes may have put operators together; what is left follows from `size`, whatever the pictures are.
    assert "pictures" not in declared
    assert declared and all(not seen and nbytes in (sizes, 4 * sizes) for nbytes, seen in declared.values())
    assert declared["numbers"] == (4 * sizes, False)
    assert device.arena.held >= 2 * 4 * sizes, "reserved before the first batch"
    assert "declared" in pipeline.gpu_memory()["table"]
    outputs = pipeline.run()
    seen = _rows(pipeline)
    assert seen["pictures"][1] and seen["numbers"] == (4 * sizes, True)
    assert "declared" not in pipeline.gpu_memory()["table"].split("\n", 1)[1]
    del outputs
    pipeline.close()


def test_hints_of_decoders_are_declarations(device: EmulatedDevice) -> None:
    pipeline = _training(preallocate_width_hint=500, preallocate_height_hint=400)
    assert _rows(pipeline)["pictures"] == (4 * 500 * 400 * 3, False)
    pipeline.run()
    nbytes, seen = _rows(pipeline)["pictures"]
    assert seen and nbytes != 4 * 500 * 400 * 3, "batches correct what was declared"
    pipeline.close()


def test_channels_and_types_follow_where_operators_decide_on_them(device: EmulatedDevice) -> None:
    pictures = np.ones((2, 300, 300, 3), np.uint8)
    pipeline = Pipeline(2, 1, 0, gpu="emulated", prefetch_queue_depth=1)
    with pipeline:
        images = fn.external_source(source=lambda: pictures, layout="HWC", dtype=types.UINT8).gpu()
        images = fn.color_space_conversion(images, image_type=types.RGB, output_type=types.GRAY)
        pipeline.set_outputs(fn.resize(images, size=(700, 700), name="large"))
    pipeline.build()
    assert _rows(pipeline) == {"large": (2 * 700 * 700, False)}, "one channel, whatever the input has"
    assert device.arena.held >= 2 * 2 * 700 * 700
    outputs = pipeline.run()
    assert (outputs[0].as_cpu().as_array() == 1).all()
    pipeline.close()


def test_larger_batches_correct_the_plan(device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    extents = iter([100, 100, 600, 100, 100, 100, 100, 100])
    pipeline = Pipeline(1, 1, 0, gpu="emulated", prefetch_queue_depth=1)
    with pipeline:
        images = fn.external_source(source=lambda: [np.ones((next(extents), 100, 3), np.uint8)], layout="HWC")
        pipeline.set_outputs(fn.flip(images.gpu()))
    reserved: list[int] = []
    monkeypatch.setattr(device.arena, "reserve", reserved.append)
    for _ in range(5):
        pipeline.run()
    assert reserved == sorted(set(reserved)) and len(reserved) == 2
    assert reserved[-1] == 2 * 600 * 100 * 3 or reserved[-1] > reserved[0]
    pipeline.close()


def test_the_error_says_what_was_declared_and_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    small = EmulatedDevice(capacity=8 * MIB)
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: small)
    pipeline = Pipeline(1, 1, 0, gpu="emulated")
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((1, 400, 400, 3), np.uint8), layout="HWC").gpu()
        large = fn.resize(fn.flip(images, name="flipped"), size=(4000, 4000), name="large")
        numbers = fn.crop_mirror_normalize(large, crop=(2000, 2000), dtype=types.FLOAT, name="numbers")
        pipeline.set_outputs(numbers, large)
    with pytest.raises(dali_lab.DaliLabError) as caught:
        pipeline.run()
    lines = {line.split()[0]: line for line in str(caught.value).splitlines() if line.split()}
    assert "0.5 MiB" in lines["flipped"] and " seen " in lines["flipped"]
    assert "45.8 MiB" in lines["large"] and " declared " in lines["large"]
    assert "45.8 MiB" in lines["numbers"] and " declared " in lines["numbers"]
    pipeline.close()


def test_values_of_nodes_that_decide_on_shapes_are_not_guessed(device: EmulatedDevice) -> None:
    pipeline = Pipeline(2, 1, 0, gpu="emulated")
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((2, 30, 30, 3), np.uint8), layout="HWC").gpu()
        sizes = fn.random.uniform(range=(10.0, 300.0), shape=[2])
        pipeline.set_outputs(fn.resize(images, size=sizes, name="odd"), fn.resize(images, size=(5, 5), name="even"))
    pipeline.build()
    assert _rows(pipeline) == {}, "the type and the channels of the images are not known either"
    pipeline.run()
    assert {name for name, (_, seen) in _rows(pipeline).items() if seen} == {"odd", "even"}
    pipeline.close()


def _firsts() -> list[Any]:
    firsts = {name: next(gpu_cases.cases_of(name), None) for name in gpu_cases.operators()}
    return [pytest.param(name, found[1], id=found[0]) for name, found in firsts.items() if found]


@pytest.mark.parametrize(("name", "case"), _firsts())
def test_what_is_foreseen_of_an_operator_is_what_comes(
    name: str, case: Case, device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the inputs' shapes alone, and where they are not known either."""
    plans: list[Any] = []
    built = Pipeline._built

    def keep(pipeline: Pipeline) -> Any:
        runner = built(pipeline)
        plans[:] = [(runner.plan, runner.engine.device.memory)]
        return runner

    monkeypatch.setattr(Pipeline, "_built", keep)
    gpu_cases.run(name, case, "emulated", gpu_cases.place(name))
    ((plan, memory),) = plans
    kinds: dict[Edge, Kind] = memory._kinds
    sources = {step.node.id for step in plan.sources}
    for known in ({edge: kind for edge, kind in kinds.items() if edge.node in sources}, {}):
        for edge, kind in foresee(plan, known).items():
            seen = kinds.get(edge)
            assert seen is None or (seen.dtype, len(seen.shape)) == (kind.dtype, len(kind.shape))
            if seen is not None and known and case.batches == 1:
                assert np.prod(kind.shape) >= np.prod(seen.shape), (edge, kind, seen)


def test_many_random_numbers_are_not_drawn_to_plan_for_them(
    device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dali_lab.operators.random.drawing import Drawing

    drawn: list[int] = []
    memory = Drawing.memory

    def count(operator: Drawing, call: Any, like: Any, dtype: Any) -> Any:
        batch = memory(operator, call, like, dtype)
        drawn.append(batch.nbytes)
        return batch

    monkeypatch.setattr(Drawing, "memory", count)
    pipeline = Pipeline(2, 1, 0, gpu="emulated")
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((2, 30, 30, 3), np.uint8), layout="HWC").gpu()
        large = fn.random.normal(shape=[300, 400], device="gpu", dtype=types.FLOAT, name="large")
        angle = fn.random.uniform(range=(0.0, 9.0))
        like = fn.random.uniform(images, device="gpu")
        pipeline.set_outputs(large, fn.rotate(images, angle=angle), like)
    pipeline.build()
    assert _rows(pipeline)["large"] == (2 * 300 * 400 * 4, False)
    assert sum(drawn) < 1000, "the angles alone"
    pipeline.run()
    assert _rows(pipeline)["large"] == (2 * 300 * 400 * 4, True)
    pipeline.close()
