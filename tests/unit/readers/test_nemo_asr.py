"""The reader of NeMo manifests: the sounds, transcripts and order of NVIDIA DALI, and errors that name the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

import dali_lab
from dali_lab import types
from dali_lab.codecs.audio import frames_of
from dali_lab.codecs.encoded import CodecError
from tests.unit.readers.both_engines import goes_on_in_the_other, travels
from tests.unit.readers.reading import assert_same, make, take

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

BOTH = {"here": dali_lab, "there": dali}


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sounds of several forms, whole and in parts."""
    folder = tmp_path_factory.mktemp("speech")
    rng = np.random.default_rng(2)
    for name, length, channels, rate, kind in (
        ("a.wav", 4000, 1, 16000, "PCM_16"), ("b.flac", 5000, 2, 22050, "PCM_16"), ("c.wav", 3000, 2, 8000, "FLOAT"),
        ("d.wav", 1000, 1, 16000, "PCM_24"),
    ):  # fmt: skip
        soundfile.write(folder / name, rng.uniform(-1, 1, (length, channels)), rate, subtype=kind)
    lines: list[dict[str, Any]] = [
        {"audio_filepath": "a.wav", "duration": 0.25, "text": "Grüße \u4f60"},
        {"audio_filepath": "b.flac", "extra": [1, {"a": None}]},
        {"audio_filepath": "c.wav", "offset": 0.1, "duration": 0.123, "text": ""},
        {"audio_filepath": "b.flac", "offset": 0.05, "duration": 0.1, "text": "part"},
        {"audio_filepath": "a.wav", "offset": 0.2, "duration": 9.0, "text": "beyond the end"},
        {"audio_filepath": "d.wav", "duration": 0.2, "text": "x"},
    ]
    for line in lines:
        line["audio_filepath"] = str(folder / line["audio_filepath"])
    path = folder / "manifest.json"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    return path


def agree(arguments: dict[str, Any], batches: int = 5) -> None:
    mine = make(dali_lab, "readers.nemo_asr", arguments)
    theirs = {name: getattr(dali.types, value.name) if name == "dtype" else value for name, value in arguments.items()}
    other = make(dali, "readers.nemo_asr", theirs)
    assert mine.reader_meta() == other.reader_meta()
    assert_same([batch[:-1] for batch in take(mine, batches)], [batch[:-1] for batch in take(other, batches)])


@pytest.mark.parametrize(
    "arguments",
    [
        {"read_idxs": True},
        {"downmix": False, "read_text": False, "shuffle_after_epoch": True},
        {"sample_rate": 12000.0, "quality": 80.0, "random_shuffle": True, "initial_fill": 3},
        {"sample_rate": 16000.0, "downmix": False, "dtype": types.INT16, "num_shards": 2, "shard_id": 1},
        {"dtype": types.INT16, "read_sample_rate": False, "stick_to_shard": True, "pad_last_batch": True},
        {"dtype": types.INT32, "downmix": False, "shuffle_after_epoch": True, "shuffle_after_epoch_seed": 3},
        {"min_duration": 0.15, "read_idxs": True},
        {"min_duration": 0.2, "max_duration": 1.0},
        {"max_duration": 0.2, "read_idxs": True},
    ],
    ids=str,
)
def test_sounds_and_order_of_dali(manifest: Path, arguments: dict[str, Any]) -> None:
    agree({"manifest_filepaths": [str(manifest), str(manifest)], **arguments})


def test_sources_are_files(manifest: Path) -> None:
    (batch,) = take(make(dali_lab, "readers.nemo_asr", {"manifest_filepaths": str(manifest)}, 2), 1)
    assert [Path(bytes(name).decode()).name for name in batch[-1][1]] == ["a.wav", "b.flac"]


@pytest.mark.parametrize("reader", [{}, {"random_shuffle": True, "initial_fill": 4}, {"shuffle_after_epoch": True}])
def test_checkpoints_go_both_ways(manifest: Path, reader: dict[str, Any]) -> None:
    goes_on_in_the_other("readers.nemo_asr", named=False, manifest_filepaths=[str(manifest)], **reader)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_formats(manifest: Path) -> None:
    given = {"manifest_filepaths": [str(manifest)], "read_text": False, "read_idxs": True, "normalize_text": True}
    travels("readers.nemo_asr", named=False, **given)
    assert_same(take(make(dali_lab, "nemo_asr_reader", given), 2), take(make(dali_lab, "readers.nemo_asr", given), 2))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"audio_filepath": "a.wav", "text": "cut', "line 2.*Unterminated"),
        ('{"audio_filepath": 3}', "line 2.*audio_filepath.*3"),
        ('{"audio_filepath": "a.wav", "duration": "long"}', "line 2.*duration.*long"),
        ('{"audio_filepath": "a.wav", "offset": Infinity}', "line 2.*offset"),
        ('{"audio_filepath": "a.wav", "text": null}', "line 2.*text"),
    ],
)
def test_damaged_lines_are_named(tmp_path: Path, manifest: Path, line: str, words: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(manifest.read_text().splitlines()[0] + f"\n{line}\n")
    with pytest.raises(dali_lab.DaliLabError, match=words):
        make(dali_lab, "readers.nemo_asr", {"manifest_filepaths": [str(path)]})


def test_lines_that_name_nothing_are_left_out(tmp_path: Path, manifest: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(manifest.read_text() + '\nno object\n{"text": "alone"}\n')
    with pytest.warns(UserWarning, match=r"line 8 of .*odd\.json|line 9"):
        pipeline = make(dali_lab, "readers.nemo_asr", {"manifest_filepaths": [str(path)]})
    assert pipeline.epoch_size("Reader") == 6
    path.write_text("\n")
    for paths, words in (([str(path)], "no line"), (["/no/such.json"], r"/no/such\.json"), ([], "manifest_filepaths")):
        with pytest.raises(dali_lab.DaliLabError, match=words):
            make(dali_lab, "readers.nemo_asr", {"manifest_filepaths": paths})


def test_bad_sounds_are_named_and_the_next_batch_comes(tmp_path: Path, manifest: Path) -> None:
    (tmp_path / "no.wav").write_bytes(b"no sound")
    first = json.loads(manifest.read_text().splitlines()[0])
    lines = [{"audio_filepath": str(tmp_path / "no.wav")}, first, {**first, "offset": 7.0}, {"audio_filepath": "/no"}]
    path = tmp_path / "manifest.json"
    path.write_text("\n".join(map(json.dumps, lines)))
    pipeline = make(dali_lab, "readers.nemo_asr", {"manifest_filepaths": [str(path)]}, batch_size=1)
    found = []
    for _ in range(5):
        try:
            found.append(str(len(take(pipeline, 1)[0][0][1][0])))
        except dali_lab.DaliLabError as error:
            found.append(str(error))
    assert "no.wav" in found[0] and found[1] == "4000" and "a.wav" in found[2] and "7 s" in found[2]
    assert "/no" in found[3] and "cannot read" in found[3]
    assert "no.wav" in found[4]


def test_spans_that_overflow_are_those_of_the_whole_sound() -> None:
    assert frames_of(8000, 16000.0, np.array([0.0, 1e308])) == (0, 8000)
    with pytest.raises(CodecError, match="no samples from 1e"):
        frames_of(8000, 16000.0, np.array([1e308, 1.0]))
