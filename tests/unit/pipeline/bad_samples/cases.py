"""Graphs over files of which some are damaged, and the batches that they have to give."""

from __future__ import annotations

import functools
import shutil
import wave
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dali_lab import Pipeline, fn, pipeline_def

SIZE, BATCHES = 6, 3
TOTAL = SIZE * BATCHES
Rows = list[list[np.ndarray]]


def write_picture(path: Path, index: int) -> None:
    import cv2

    noise = np.random.default_rng(index).integers(0, 255, (9, 12, 3), np.uint8)
    cv2.imwrite(str(path), cv2.resize(noise, (60 + index, 48)))


def write_sound(path: Path, index: int) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes((np.arange(400 + index) * 7 % 3000).astype("<i2").tobytes())


def write_array(path: Path, index: int) -> None:
    np.save(path, np.full((4, 3), index, np.float32))


WRITERS = {".jpg": write_picture, ".wav": write_sound, ".npy": write_array}


def no_header(path: str) -> None:
    Path(path).write_bytes(b"nothing that is known")


def cut_short(path: str) -> None:
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) // 2])


def gone(path: str) -> None:
    Path(path).unlink()


def other_type(path: str) -> None:
    np.save(path, np.ones((4, 3), np.float64))


def other_rank(path: str) -> None:
    np.save(path, np.ones((4, 3, 2), np.float32))


def trained(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Labels, numbers of another reader and random numbers beside augmented pictures."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers), name="first")
    _, others = fn.readers.file(files=[__file__] * len(numbers), labels=[7 * n for n in numbers], name="second")
    images = fn.decoders.image_random_crop(encoded)
    images = fn.resize(images, size=(24, 32))
    images = fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip())
    return images, labels, others, fn.random.uniform(range=(0.0, 1.0)), labels * 2


def turned(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Pictures that are decoded by a step of their own, and turned."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.decoders.image(encoded)
    images = fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True)
    return fn.pad(images), labels


def mixed(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Operators that see the whole batch behind the decoder."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.resize(fn.decoders.image(encoded), size=(16, 16))
    order = fn.batch_permutation()
    return images, fn.permute_batch(images, indices=order), fn.permute_batch(labels, indices=order)


def decoded_late(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Decoding behind an operator that sees the whole batch."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.resize(fn.decoders.image(fn.pad(encoded, fill_value=0)), size=(16, 16))
    return images, labels


def in_branches(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Decoding in the branches of a condition on random numbers."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    if fn.random.coin_flip():
        images = fn.resize(fn.decoders.image(encoded), size=(16, 16))
    else:
        images = fn.flip(fn.resize(fn.decoders.image(encoded), size=(16, 16)))
    return images, labels


def behind_condition(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """A condition on what was decoded."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.resize(fn.decoders.image(encoded), size=(16, 16))
    if fn.reductions.mean(images) > 127:
        images = fn.brightness(images, brightness=fn.random.uniform(range=(0.5, 1.0)))
    else:
        images = fn.flip(images)
    return images, labels


def on_device(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Stages on a device behind the decoder."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.decoders.image(encoded, device="mixed")
    images = fn.crop_mirror_normalize(fn.resize(images, size=(16, 16)), mirror=fn.random.coin_flip())
    return images, labels


def heard(files: Sequence[str], numbers: Sequence[int]) -> Any:
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    sound, rate = fn.decoders.audio(encoded)
    return fn.preemphasis_filter(sound, preemph_coeff=fn.random.uniform(range=(0.5, 0.9))), rate, labels


def arrays(files: Sequence[str], numbers: Sequence[int]) -> Any:
    data = fn.readers.numpy(files=list(files))
    _, labels = fn.readers.file(files=[__file__] * len(numbers), labels=list(numbers))
    return data * 2, labels, fn.random.normal(data)


def by_python(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """A Python function that refuses what the decoder took."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.python_function(encoded, function=refuse_short)
    return images, labels, fn.random.uniform(range=(0.0, 1.0))


def refuse_short(data: np.ndarray) -> np.ndarray:
    if len(data) < 30:
        raise ValueError("too short")
    return data[:20].copy()


@dataclass(frozen=True)
class Case:
    """A graph, the files that it reads, and how one of them is damaged."""

    graph: Callable[[Sequence[str], Sequence[int]], Any]
    ending: str
    damage: Callable[[str], None]
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.graph.__name__}-{self.damage.__name__}"


CONDITIONAL = (("enable_conditionals", True),)
EMULATED = (("gpu", "emulated"), ("device_id", 0))
CASES = [
    Case(trained, ".jpg", no_header),
    Case(trained, ".jpg", cut_short),
    Case(trained, ".jpg", gone),
    Case(turned, ".jpg", no_header),
    Case(turned, ".jpg", cut_short),
    Case(mixed, ".jpg", cut_short),
    Case(mixed, ".jpg", gone),
    Case(decoded_late, ".jpg", no_header),
    Case(in_branches, ".jpg", cut_short, CONDITIONAL),
    Case(behind_condition, ".jpg", cut_short, CONDITIONAL),
    Case(on_device, ".jpg", cut_short, EMULATED),
    Case(on_device, ".jpg", no_header, EMULATED),
    Case(heard, ".wav", no_header),
    Case(heard, ".wav", gone),
    Case(arrays, ".npy", cut_short),
    Case(arrays, ".npy", other_type),
    Case(arrays, ".npy", other_rank),
    Case(by_python, ".jpg", no_header),
]


BAD = (1, 7, 8, TOTAL - 1)  # alone, two neighbours, and the last sample of all


@functools.cache
def good_files(ending: str, folder: Path) -> list[str]:
    """Readable files of a kind, named by their index."""
    paths = [folder / f"good{ending}" / f"{index:02}{ending}" for index in range(TOTAL)]
    paths[0].parent.mkdir()
    for index, path in enumerate(paths):
        WRITERS[ending](path, index)
    return [str(path) for path in paths]


def damaged(case: Case, folder: Path, bad: Sequence[int] = BAD) -> tuple[list[str], list[str]]:
    """The files of a case, good and with some of them damaged."""
    good = good_files(case.ending, folder)
    copies = folder / f"{case.name}-{'-'.join(map(str, bad))}"
    if not copies.exists():
        copies.mkdir()
        for path in good:
            shutil.copy(path, copies)
        for index in bad:
            case.damage(str(copies / Path(good[index]).name))
    return good, [str(copies / Path(path).name) for path in good]


def built(case: Case, files: Sequence[str], numbers: Sequence[int], **settings: Any) -> Pipeline:
    how = {"batch_size": SIZE, "num_threads": 2, "device_id": None, "seed": 11, **dict(case.settings), **settings}
    pipeline: Pipeline = pipeline_def(case.graph, **how)(files, numbers)
    return pipeline


def run(pipeline: Pipeline, batches: int) -> Rows:
    result = []
    for _ in range(batches):
        outputs = [output.as_cpu() for output in pipeline.run()]
        result.append([np.asarray(output.at(i)).copy() for output in outputs for i in range(len(output))])
    return result


def donors(bad: Sequence[int], size: int = SIZE) -> list[int]:
    """For each sample the one whose data it has: the next good one of its batch, in turn."""
    result = []
    for index in range(TOTAL):
        first = index // size * size
        turn = [first + (index - first + step) % size for step in range(size)]
        result.append(next(other for other in turn if other not in bad))
    return result


def expected(case: Case, folder: Path, *, left_out: Sequence[int] = ()) -> Rows:
    """Batches of a plain run on good files, with those of the replacements in the places of the bad ones."""
    good = good_files(case.ending, folder)
    order = donors(BAD)
    with_replacements = built(case, [good[i] for i in order], order)
    rows = run(with_replacements, BATCHES)
    with_replacements.close()
    for number, batch in enumerate(rows):
        kept = [i for i in range(SIZE) if number * SIZE + i not in left_out]
        batch[:] = [row for output in range(len(batch) // SIZE) for row in (batch[output * SIZE + i] for i in kept)]
    return rows


def assert_same(found: Rows, wanted: Rows) -> None:
    assert [len(batch) for batch in found] == [len(batch) for batch in wanted]
    for batch, other in zip(found, wanted, strict=True):
        for row, same in zip(batch, other, strict=True):
            assert row.dtype == same.dtype and np.array_equal(row, same)


PLAIN = Case(trained, ".jpg", cut_short)
