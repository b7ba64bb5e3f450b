"""Previews run on the device that pipelines would run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dali_lab import fn, pipeline_def
from dali_lab.device.emulated import EmulatedDevice
from dali_lab.executor import placement
from dali_lab.gallery.samples import photographs
from dali_lab.graph.graph import Graph
from dali_lab.studio.preview.evaluation import Evaluator


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatedDevice]:
    monkeypatch.setenv("DALI_LAB_GPU", "emulated")
    emulated = placement.find_device("emulated")
    assert isinstance(emulated, EmulatedDevice)
    emulated.trace = []
    yield emulated
    emulated.trace = None


def graph(folder: Path) -> Graph:
    @pipeline_def(batch_size=4, num_threads=2, seed=5, device_id=0)
    def pipeline():  # type: ignore[no-untyped-def]
        encoded, _ = fn.readers.file(file_root=str(folder), name="reader")
        image = fn.decoders.image(encoded, device="mixed", name="decoded")
        image = fn.resize(image, size=[24, 24], name="resized")
        return fn.rotate(image, angle=fn.random.uniform(range=(-40.0, 40.0)), fill_value=0, name="turned")

    return pipeline().graph


def kernels(device: EmulatedDevice) -> set[str]:
    assert device.trace is not None
    return {work.what.split("<")[0] for work in device.trace if work.stream.name == "compute"}


def test_previews_run_on_the_device_and_show_what_training_gets(device: EmulatedDevice) -> None:
    shown = graph(photographs())
    evaluator = Evaluator(threads=2)
    try:
        found = evaluator.evaluate(shown, 5, samples=4)
        assert {"resize", "warp_image"} <= kernels(device)
        again = evaluator.evaluate(shown, 5, samples=4, nodes=["turned"])
    finally:
        evaluator.close()
    trained = graph(photographs())
    evaluator = Evaluator(threads=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALI_LAB_GPU", "never")
        on_cpu = evaluator.evaluate(trained, 5, samples=4)
    evaluator.close()
    for name in ("decoded", "resized", "turned"):
        result = found.results[name]
        assert not result.failures and result.seconds is not None
        ours, theirs = result.outputs[0], on_cpu.results[name].outputs[0]
        assert ours is not None and theirs is not None and ours.device is None
        for row in range(4):
            assert (ours.array(row) == theirs.array(row)).all()
    assert again.results["turned"].outputs[0] is found.results["turned"].outputs[0]


def test_one_damaged_picture_takes_no_other_along(device: EmulatedDevice, tmp_path: Path) -> None:
    pictures = sorted(path for path in photographs().rglob("*") if path.is_file())[:4]
    (tmp_path / "some").mkdir()
    for index, path in enumerate(pictures):
        data = path.read_bytes()
        (tmp_path / "some" / f"{index}{path.suffix}").write_bytes(data[: len(data) // 9] if index == 2 else data)
    evaluator = Evaluator(threads=2)
    try:
        found = evaluator.evaluate(graph(tmp_path), 5, samples=4)
    finally:
        evaluator.close()
    turned = found.results["turned"].outputs[0]
    assert turned is not None and len(turned) == 3
    assert found.results["turned"].missing[0] == frozenset({2})
    assert [failure.sample for failure in found.results["decoded"].failures] == [2]
    assert np.asarray(turned.array(0)).any()
