"""The reader of sequences: the frames and the order of NVIDIA DALI, and errors that name the frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, types
from tests.unit.readers.both_engines import goes_on_in_the_other, travels
from tests.unit.readers.reading import assert_same, make, take

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
BOTH = {"here": dali_lab, "there": dali}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three streams of frames, and things that are none."""
    folder = tmp_path_factory.mktemp("streams")
    rng = np.random.default_rng(1)
    for stream, count in (("a", 5), ("a-b", 7), ("B", 1), (".hidden", 4), ("empty", 0)):
        (folder / stream).mkdir()
        for index in range(count):
            ending = ("png", "BMP", "webp")[index % 3]
            picture = rng.integers(0, 256, (6, 8, 3), np.uint8)
            flags = [cv2.IMWRITE_WEBP_QUALITY, 101] if ending == "webp" else []
            cv2.imwrite(str(folder / stream / f"{index:02}.{ending}"), picture, flags)
    (folder / "a" / "notes.txt").write_text("no frame")
    (folder / "a" / ".x.png").write_bytes(b"")
    (folder / "alone.png").write_bytes(b"")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        {"sequence_length": 2},
        {"sequence_length": 3, "step": 2, "stride": 2, "image_type": types.GRAY},
        {"sequence_length": 1, "step": 3, "image_type": types.BGR, "random_shuffle": True, "initial_fill": 2},
        {"sequence_length": 2, "num_shards": 3, "shard_id": 1, "pad_last_batch": True, "image_type": types.ANY_DATA},
    ],
    ids=str,
)
def test_frames_and_order_of_dali(root: Path, arguments: dict[str, Any]) -> None:
    given = {"file_root": str(root), **arguments}
    theirs = {
        key: dali.types.DALIImageType(int(value)) if key == "image_type" else value for key, value in given.items()
    }
    mine, other = make(dali_lab, "readers.sequence", given), make(dali, "readers.sequence", theirs)
    assert mine.reader_meta() == other.reader_meta()
    ours = [batch[:-1] for batch in take(mine, 8)]
    assert_same(ours, [batch[:-1] for batch in take(other, 8)])
    assert ours[0][0][0] == "FHWC"


def test_sources_are_first_frames(root: Path) -> None:
    (batch,) = take(make(dali_lab, "readers.sequence", {"file_root": str(root), "sequence_length": 2}, 3), 1)
    names = [bytes(name).decode() for name in batch[-1][1]]
    assert names == [str(root / "a-b" / name) for name in ("00.png", "01.BMP", "02.webp")]


@pytest.mark.parametrize("reader", [{}, {"random_shuffle": True, "initial_fill": 4}])
def test_checkpoints_go_both_ways(root: Path, reader: dict[str, Any]) -> None:
    goes_on_in_the_other("readers.sequence", named=False, file_root=str(root), sequence_length=2, **reader)


def test_formats(root: Path) -> None:
    given = {"file_root": str(root), "sequence_length": 2, "stride": 2}
    travels("readers.sequence", named=False, **given)
    assert_same(take(make(dali_lab, "sequence_reader", given), 2), take(make(dali_lab, "readers.sequence", given), 2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sequence_length": 8}, "8 frames.*longest.*7"),
        ({"sequence_length": 0}, "sequence_length"),
        ({"sequence_length": 2, "step": 0}, "step"),
        ({"sequence_length": 2, "image_type": types.YCbCr}, "image_type"),
        ({"sequence_length": 2, "file_root": "/no/such"}, "/no/such"),
        ({"sequence_length": 2, "shard_id": 1}, "shard_id"),
    ],
)
def test_errors_name_the_argument(root: Path, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words):
        make(dali_lab, "readers.sequence", {"file_root": str(root), **arguments})


def test_bad_frames_are_named_and_the_next_batch_comes(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for index, size in enumerate((4, 4, 5, 5, 4, 4)):
        cv2.imwrite(str(tmp_path / "s" / f"{index}.png"), np.zeros((size, 4, 3), np.uint8))
    (tmp_path / "s" / "4.png").write_bytes(b"no picture")
    with Pipeline(1, 1, None, prefetch_queue_depth=1) as pipeline:
        pipeline.set_outputs(fn.readers.sequence(file_root=str(tmp_path), sequence_length=2))
    found: list[str] = []
    for _ in range(5):
        try:
            found.append(str(pipeline.run()[0].at(0).shape))
        except dali_lab.DaliLabError as error:
            found.append(str(error))
    assert found[0] == "(2, 4, 4, 3)" and found[2] == "(2, 5, 4, 3)"
    assert "2.png" in found[1] and "[5, 4, 3]" in found[1]
    assert "4.png" in found[3] and "4.png" in found[4]
