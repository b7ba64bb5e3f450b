"""Mixup, CutMix and Mosaic, checked against what their papers say, computed from the outputs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn

BATCH = 6
CLASSES = np.eye(BATCH, dtype=np.float32)


def run(
    name: str, *inputs: tuple[list[np.ndarray], str], batches: int = 1, threads: int = 2, **arguments: Any
) -> list[list[np.ndarray]]:
    """The outputs of the last of some batches."""
    with Pipeline(BATCH, threads, None, seed=4) as pipeline:
        nodes = [
            fn.external_source(source=functools.partial(list, rows), **({"layout": layout} if layout else {}))
            for rows, layout in inputs
        ]
        outputs = getattr(fn.mixing, name)(*nodes, **arguments)
        pipeline.set_outputs(*(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
    for _ in range(batches):
        result = pipeline.run()
    return [[np.array(output.at(index)) for index in range(BATCH)] for output in result]


def pictures(dtype: Any = np.uint8, layout: str = "HWC") -> tuple[list[np.ndarray], str]:
    """Images of one colour each, so that a mixture tells its parts."""
    shape = (20, 30, 3) if layout == "HWC" else (3, 20, 30)
    return [np.full(shape, 40 * index, dtype) for index in range(BATCH)], layout


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float16])
def test_mixup_blends_images_as_labels(dtype: Any) -> None:
    images, labels = run("mixup", pictures(dtype), (list(CLASSES), ""), alpha=0.7)
    for image, label in zip(images, labels, strict=True):
        assert image.dtype == dtype
        assert label.sum() == pytest.approx(1, abs=1e-6)
        expected = (label * 40 * np.arange(BATCH)).sum()
        np.testing.assert_allclose(image.astype(float), expected, atol=0.6 if image.dtype.kind in "iu" else 0.2)
    assert any(0.01 < row.max() < 0.99 for row in labels)


def test_mixup_shares_follow_the_beta_distribution() -> None:
    shares = []
    with Pipeline(64, 1, None, seed=3) as pipeline:
        images = fn.external_source(source=lambda: [np.zeros((1, 1, 1), np.float32)] * 64, layout="HWC")
        labels = fn.external_source(source=lambda: list(np.eye(64, dtype=np.float32)))
        pipeline.set_outputs(fn.mixing.mixup(images, labels, alpha=2.0)[1])
    for _ in range(30):
        table = pipeline.run()[0].as_array()
        shares += [table[i, i] for i in range(64) if table[i, i] < 1]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.02)
    assert np.var(shares) == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_cutmix_labels_are_areas(layout: str) -> None:
    for batches in (1, 2, 3):
        images, labels = run("cutmix", pictures(np.int32, layout), (list(CLASSES), ""), batches=batches)
        for index, (image, label) in enumerate(zip(images, labels, strict=True)):
            plane = image[..., 0] if layout == "HWC" else image[0]
            for other in range(BATCH):
                if other != index:
                    assert (plane == 40 * other).mean() == pytest.approx(label[other], abs=1e-6)
            pasted = np.argwhere(plane != 40 * index)
            if len(pasted):
                low, high = pasted.min(axis=0), pasted.max(axis=0) + 1
                assert len(pasted) == np.prod(high - low)


def test_cutmix_pastes_from_the_same_place() -> None:
    rng = np.random.default_rng(0)
    data = [rng.integers(0, 256, (16, 16, 3)).astype(np.uint8) for _ in range(BATCH)]
    (images,) = run("cutmix", (data, "HWC"))
    for index, image in enumerate(images):
        differs = (image != data[index]).any(axis=-1)
        if differs.any():
            assert any((image[differs] == other[differs]).all() for other in data)


def test_mosaic_puts_images_around_a_point() -> None:
    data = [np.full((10 + index, 12, 1), index + 1, np.uint8) for index in range(BATCH)]
    boxes = [np.array([[0.0, 0.0, 1.0, 1.0]], np.float32)] * BATCH
    labels = [np.array([index + 1], np.int32) for index in range(BATCH)]
    images, moved, names = run(
        "mosaic", (data, "HWC"), (boxes, ""), (labels, ""), size=(16, 20), fill_value=99.0, prune_threshold=0.0
    )
    for index, image in enumerate(images):
        assert image.shape == (16, 20, 1)
        assert set(np.unique(image)) <= {*range(1, BATCH + 1), 99}
        assert names[index][0] == index + 1
        assert len(names[index]) == 4
        covered = np.zeros((16, 20), bool)
        for box, name in zip(moved[index], names[index], strict=True):
            left, top, right, bottom = np.rint(box * [20, 16, 20, 16]).astype(int)
            assert (image[top:bottom, left:right, 0] == name).all()
            assert not covered[top:bottom, left:right].any()
            covered[top:bottom, left:right] = True
        assert (image[..., 0][~covered] == 99).all()


def test_mosaic_leaves_out_what_is_cut_away() -> None:
    data = [np.zeros((40, 40, 3), np.uint8)] * BATCH
    edge = [np.array([[0.0, 0.0, 0.1, 0.1], [0.4, 0.4, 0.6, 0.6]], np.float32)] * BATCH
    _, boxes = run("mosaic", (data, "HWC"), (edge, ""), size=(40, 40), center_range=(0.5, 0.5), prune_threshold=0.3)
    for row in boxes:
        assert len(row) == 1
        np.testing.assert_allclose(row[0], [0.5, 0.5, 0.6, 0.6], atol=1e-6)


@pytest.mark.parametrize(("name", "arguments"), [("mixup", {}), ("cutmix", {}), ("mosaic", {"size": (20, 20)})])
def test_results_do_not_depend_on_threads(name: str, arguments: dict[str, Any]) -> None:
    for one, four in zip(
        run(name, pictures(), threads=1, batches=2, **arguments),
        run(name, pictures(), threads=4, batches=2, **arguments),
        strict=True,
    ):
        np.testing.assert_array_equal(np.stack(one), np.stack(four))
