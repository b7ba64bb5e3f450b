"""Batches of plain, turned, grey, CMYK, PNG and damaged pictures give what they give without the fast JPEG decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import fn, types
from dali_lab.codecs.backends import imagecodecs, libjpeg, nvimgcodec, pillow, simplejpeg
from dali_lab.errors import DaliLabError
from tests.unit.codecs import oracle, pictures

SIZE = 24
"""Pictures in a batch."""

Array = np.ndarray[Any, Any]
OPERATORS: dict[str, dict[str, Any]] = {
    "image": {},
    "image_crop": {"crop": (20, 31), "crop_pos_x": 0.8, "crop_pos_y": 0.1},
    "image_slice": {"rel_start": (0.11, 0.32), "rel_shape": (0.5, 0.63), "axis_names": "HW"},
    "image_random_crop": {"seed": 12, "random_area": (0.1, 0.8)},
}


def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let libjpeg be unusable, as where no wheel brings it along."""
    monkeypatch.setattr(libjpeg, "available", lambda: False)


def mixture(seed: int) -> list[bytes]:
    """Files of all kinds in random order, every other one turned."""
    files = pictures.all_files()
    names = ("jpeg 420", "jpeg progressive", "jpeg gray", "jpeg gray orientation 6", "jpeg cmyk", "png rgb", "tiff rgb")
    chosen = [files[name] for name in names]
    chosen += [files[f"jpeg orientation {orientation}"] for orientation in range(1, 9)]
    rng = np.random.default_rng(seed)
    return [chosen[int(place)] for place in rng.permutation(np.resize(np.arange(len(chosen)), SIZE))]


def pipeline(files: list[bytes], operator: str, **arguments: Any) -> Any:
    """Several chunks to a batch: three threads decode it."""
    pipe = dali_lab.Pipeline(batch_size=len(files), num_threads=3, device_id=None, prefetch_queue_depth=1)
    arrays = [np.frombuffer(data, np.uint8) for data in files]
    with pipe:
        encoded = fn.external_source(source=lambda: arrays, batch=True, dtype=types.UINT8, ndim=1)
        pipe.set_outputs(getattr(fn.decoders, operator)(encoded, **arguments))
    pipe.build()
    return pipe


def images(files: list[bytes], operator: str, **arguments: Any) -> list[Array]:
    (output,) = pipeline(files, operator, **OPERATORS[operator], **arguments).run()
    return [np.array(output.at(place)) for place in range(len(files))]


def same(arrays: list[Array], wanted: list[Array]) -> None:
    assert len(arrays) == len(wanted)
    for place, (array, reference) in enumerate(zip(arrays, wanted, strict=True)):
        np.testing.assert_array_equal(array, reference, err_msg=f"picture {place}")


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"output_type": types.GRAY},
        {"output_type": types.BGR, "adjust_orientation": False},
        {"use_fast_idct": True},
        {"dtype": types.FLOAT},
    ],
    ids=["plain", "gray", "as stored", "fast", "float"],
)
def test_pixels(operator: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    files = mixture(seed=len(operator))
    arrays = images(files, operator, **arguments)
    with monkeypatch.context() as patch:
        without(patch)
        same(arrays, images(files, operator, **arguments))


@pytest.mark.parametrize("operator", OPERATORS)
def test_pixels_of_nvidia_dali(operator: str) -> None:
    files = mixture(seed=5)
    wanted = oracle.decoded(getattr(oracle.fn.decoders, operator), files, **OPERATORS[operator])[0]
    same(images(files, operator), wanted)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("place", [0, 11, SIZE - 1])
@pytest.mark.parametrize(
    "damage",
    [
        lambda: pictures.jpegs()["jpeg quality 95"][:500],
        lambda: pictures.jpegs()["jpeg orientation 6"][:700],
        lambda: pictures.png(pictures.rgb(), 8, 2)[:500],
        lambda: b"no picture",
    ],
    ids=["jpeg", "turned jpeg", "png", "junk"],
)
def test_errors(operator: str, place: int, damage: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    files = mixture(seed=place)
    files[place] = damage()

    def message() -> str:
        with pytest.raises(DaliLabError) as caught:
            images(files, operator)
        return str(caught.value).replace(__file__, "")

    told = message()
    assert f"sample {place}" in told
    with monkeypatch.context() as patch:
        without(patch)
        assert message() == told


@pytest.mark.usefixtures("fast_jpeg")
def test_one_unusual_picture_does_not_send_the_others_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    for backend in (simplejpeg, nvimgcodec, imagecodecs, pillow):

        def counted(job: Any, which: list[int], decode: Any = backend.decode) -> Any:
            taken.append(len(which))
            return decode(job, which)

        monkeypatch.setattr(backend, "decode", counted)
    files = [pictures.jpegs()["jpeg 420"], pictures.jpegs()["jpeg orientation 8"]] * 8
    images(files, "image")
    assert taken == []
    files[3] = pictures.jpegs()["jpeg cmyk"]
    images(files, "image_random_crop")
    assert taken == [1]


def test_memory_of_a_mixed_chunk_stays() -> None:
    """Pictures are in two kinds of memory, and both live as long as the output."""
    files = mixture(seed=1)
    pipe = pipeline(files, "image")
    kept = [pipe.run()[0] for _ in range(3)]
    first = [np.array(kept[0].at(place)) for place in range(SIZE)]
    for output in kept[1:]:
        same([np.asarray(output.at(place)) for place in range(SIZE)], first)
