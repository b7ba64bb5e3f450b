"""Sequences from video files, compared with NVIDIA DALI where it decodes them, with decoded frames otherwise."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest

import dali_lab
import dali_lab.types as types
from dali_lab import fn
from dali_lab.codecs.video import Video
from dali_lab.errors import DaliLabError
from dali_lab.formats import dumps, loads
from dali_lab.schema import aliases, samples
from dali_lab.schema.cases import Case
from tests.conformance.harness import compare, run

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

Array = npt.NDArray[Any]
ALL = {"enable_frame_num": "sequence", "enable_timestamps": True}
FILES = {
    "b/a.webm": {"codec": "libvpx-vp9", "container": "webm", "count": 10},
    "b/z.mp4": {"codec": "mjpeg", "container": "mp4", "count": 5, "seed": 1, "size": (40, 66)},
    "a/slow.webm": {"codec": "libvpx", "container": "webm", "count": 8, "rate": 10, "seed": 2},
    "a/varies.webm": {"codec": "libvpx-vp9", "container": "webm", "count": 6, "times": (0, 1, 3, 4, 8, 9)},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of two classes, one of them with a variable frame rate."""
    root = tmp_path_factory.mktemp("videos")
    for name, options in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        samples.video(**options).tofile(root / name)
    return root


def pipeline(operator: Any, batch_size: int = 3, **arguments: Any) -> dali_lab.Pipeline:
    result = dali_lab.Pipeline(batch_size, 2, 0, seed=7)
    with result, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is placed on a GPU
        outputs = operator(name="Reader", sequence_length=arguments.pop("sequence_length", 3), **arguments)
        result.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else (outputs,)))
    result.build()
    return result


def rows(pipe: dali_lab.Pipeline, batches: int = 1) -> list[list[Array]]:
    """The samples of some batches, each with all outputs."""
    result = []
    for _ in range(batches):
        outputs = [output.as_cpu() for output in pipe.run()]
        result += [[np.array(output.at(index)) for output in outputs] for index in range(len(outputs[0]))]
    return result


def decoded(path: Path | str) -> Array:
    video = Video(str(path))
    index = video.index
    frames = np.empty((len(index), index.height, index.width, 3), np.uint8)
    video.decode(range(len(index)), list(frames))
    video.close()
    return frames


# -- any frame rate: NVIDIA DALI has it on the CPU ------------------------------------------------------------------


def agree(arguments: dict[str, Any], batches: int = 2, batch_size: int = 4) -> None:
    case = Case((), arguments, batches=batches, batch_size=batch_size)
    name = "experimental.readers.video"
    compare(run(dali_lab, name, case, batches=batches), run(dali, name, case, batches=batches), case)


@pytest.mark.parametrize(
    "arguments",
    [
        {"sequence_length": 3},
        {"sequence_length": 2, "stride": 2, "step": 1, "enable_frame_num": True, "enable_timestamps": True},
        {"sequence_length": 4, "stride": 2, "pad_mode": "reflect_101", **ALL},
        {"sequence_length": 4, "stride": 2, "pad_mode": "symmetric", **ALL},
        {"sequence_length": 4, "stride": 3, "pad_mode": "constant", "fill_value": [9, 8, 7], **ALL},
        {"sequence_length": 7, "pad_mode": "edge", **ALL},
        {"sequence_length": 5, "uniform_sample": True, **ALL},
        {"sequence_length": 13, "uniform_sample": True, **ALL},
        {"sequence_length": 1, "uniform_sample": True, **ALL},
        {"sequence_length": 2, "random_shuffle": True, "initial_fill": 4, "seed": 5, **ALL},
        {"sequence_length": 2, "num_shards": 3, "shard_id": 1, "pad_last_batch": True, **ALL},
        {"sequence_length": 2, "num_shards": 3, "shard_id": 2, "stick_to_shard": True, **ALL},
    ],
    ids=str,
)
def test_sequences(arguments: dict[str, Any], folder: Path) -> None:
    agree({"file_root": str(folder), **arguments})


@pytest.mark.parametrize("rounding", ["start_down_end_up", "start_up_end_down", "all_up", "all_down"])
@pytest.mark.parametrize(
    ("lines", "arguments"),
    [
        ("{0}/b/a.webm 1 0.11 0.25\n# a remark\n\n{0}/a/slow.webm 2\n", {"pad_mode": "constant"}),
        ("{0}/b/a.webm 4 0.29 0.35\n{0}/a/varies.webm 3 0.02 0.2\n", {"pad_mode": "edge"}),
        ("{0}/b/a.webm 1 2.5 7.5\n{0}/b/a.webm 5 -4 -1\n", {"file_list_format": "frames"}),
        ("{0}/b/a.webm 1 2 50\n", {"file_list_format": "frames"}),
        ("{0}/b/a.webm 1 2 7\n", {"file_list_format": "frames", "file_list_include_end": False, "step": 1}),
    ],
)
def test_parts(lines: str, arguments: dict[str, Any], rounding: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(lines.format(folder))
    agree({"file_list": str(path), "sequence_length": 2, "file_list_rounding": rounding, **ALL, **arguments})


def test_labels_and_names(folder: Path) -> None:
    agree({"filenames": [str(folder / "b/z.mp4"), str(folder / "b/a.webm")], "labels": [5, 3], "sequence_length": 2})
    pipe = pipeline(fn.experimental.readers.video, filenames=[str(folder / "b/z.mp4")])
    assert pipe.run()[0][0].source_info() == str(folder / "b/z.mp4")
    assert pipe.reader_meta("Reader")["epoch_size"] == 1


def test_a_part_without_an_end_goes_on_to_the_end(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"{folder}/b/a.webm 1 0.2\n{folder}/b/a.webm 1 0.2 99\n")
    pipe = pipeline(fn.experimental.readers.video, 2, file_list=str(path), sequence_length=5, enable_frame_num=True)
    assert [row[2].tolist() for row in rows(pipe)] == [[5], [5]]


# -- constant frame rate: NVIDIA DALI has it on the GPU alone -------------------------------------------------------


def test_constant_rate(folder: Path) -> None:
    names = [str(folder / "b/a.webm"), str(folder / "a/slow.webm")]
    pipe = pipeline(
        fn.readers.video, 4, device="gpu", filenames=names, labels=[3, 4], stride=2, step=5, **ALL, pad_sequences=True
    )
    found = rows(pipe)
    first, second = map(decoded, names)
    assert [row[1].tolist() for row in found] == [[3], [3], [4], [4]]
    assert [row[2].tolist() for row in found] == [[0, 2, 4], [5, 7, 9], [0, 2, 4], [5, 7, -1]]
    np.testing.assert_allclose(found[3][3], [0.5, 0.7, -1])
    np.testing.assert_array_equal(found[1][0], first[[5, 7, 9]])
    np.testing.assert_array_equal(found[3][0], np.concatenate([second[[5, 7]], np.zeros_like(second[:1])]))


@pytest.mark.parametrize(
    ("line", "arguments", "frames"),
    [
        ("1 0.1 0.35", {}, (3, 8)),
        ("1 0.1 0.35", {"file_list_include_preceding_frame": True}, (2, 9)),
        ("1 2 7", {"file_list_frame_num": True}, (2, 7)),
        ("1 -4 -1", {"file_list_frame_num": True}, (6, 9)),
        ("1 3", {"file_list_frame_num": True}, (3, 10)),
    ],
)
def test_parts_of_constant_rate(
    line: str, arguments: dict[str, Any], frames: Any, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"{folder}/b/a.webm {line}\n")
    pipe = pipeline(
        fn.readers.video, 20, device="gpu", file_list=str(path), sequence_length=1, enable_frame_num=True, **arguments
    )
    count = pipe.reader_meta("Reader")["epoch_size"]
    assert [int(row[2][0]) for row in rows(pipe)[:count]] == list(range(*frames))


@pytest.mark.parametrize("normalized", [False, True])
def test_floats(normalized: bool, folder: Path) -> None:
    name = str(folder / "b/a.webm")
    arguments = {"device": "gpu", "filenames": [name], "dtype": types.FLOAT, "normalized": normalized}
    (frames,) = rows(pipeline(fn.readers.video, 1, **arguments))[0]
    expected = decoded(name)[:3].astype(np.float32) * np.float32(1 / 255 if normalized else 1)
    np.testing.assert_array_equal(frames, expected)


def test_resized_as_by_resize(folder: Path) -> None:
    arguments = {"device": "gpu", "file_root": str(folder), "skip_vfr_check": True, "sequence_length": 2}
    sizes = {"resize_shorter": 25.0, "interp_type": types.INTERP_CUBIC}
    with dali_lab.Pipeline(4, 2, None) as pipe:
        frames, _ = fn.readers.video(**arguments)
        pipe.set_outputs(fn.resize(frames, **sizes), fn.readers.video_resize(**arguments, **sizes)[0])
    one, other = pipe.run()
    for index in range(4):
        np.testing.assert_array_equal(one.as_cpu().at(index), other.as_cpu().at(index))


def test_variable_rate_is_refused(folder: Path) -> None:
    name = str(folder / "a/varies.webm")
    with pytest.raises(DaliLabError, match=r"varies\.webm.*frame rate varies"):
        pipeline(fn.readers.video, device="gpu", filenames=[name]).run()
    pipe = pipeline(fn.readers.video, device="gpu", filenames=[name], skip_vfr_check=True)
    np.testing.assert_array_equal(rows(pipe)[1][0], decoded(name)[3:6])


# -- colours ---------------------------------------------------------------------------------------------------------


def test_ycbcr(folder: Path) -> None:
    """A grey frame: its luminance is that of limited range, both colour differences are in the middle."""
    name = str(folder / "b/a.webm")
    (frames,) = rows(pipeline(fn.experimental.readers.video, 1, filenames=[name], image_type=types.YCbCr))[0]
    rgb = decoded(name)[:3].astype(float)
    luminance = 16 + (65.481 * rgb[..., 0] + 128.553 * rgb[..., 1] + 24.966 * rgb[..., 2]) / 255
    # Where no channel was clipped, RGB gives back the luminance; each channel was rounded.
    inside = ((rgb > 0) & (rgb < 255)).all(axis=-1)
    assert inside.mean() > 0.5
    assert np.abs(frames[..., 0] - luminance)[inside].max() < 1.5


# -- bad files, checkpoints, other forms -----------------------------------------------------------------------------


def cut(data: Array, share: float) -> Array:
    return data[: int(len(data) * share)]


def sound(path: Path) -> None:
    import soundfile

    soundfile.write(path, samples.waves((4000,))[0], 16000, format="FLAC")


@pytest.mark.parametrize("operator", ["experimental.readers.video", "readers.video"])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "does not exist"),
        ("folder", "folder"),
        ("empty", "empty"),
        ("noise", "not a video"),
        ("sound", "has no video, only audio"),
        ("no header", "not a video"),
    ],
)
def test_bad_files_are_named(operator: str, kind: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.mp4"
    if kind == "sound":
        sound(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "noise":
        np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8).tofile(path)
    elif kind == "no header":
        cut(samples.video("libx264", "mp4", count=20), 0.5).tofile(path)
    elif kind == "empty":
        path.touch()
    function = fn.readers.video if operator == "readers.video" else fn.experimental.readers.video
    with pytest.raises(DaliLabError, match=rf"{path}.*{words}"):
        pipeline(function, filenames=[str(path)], device="gpu").run()


def test_others_in_a_folder_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.txt").write_text("remember to film more")
    samples.video(count=4).tofile(tmp_path / "a" / "film.webm")
    with pytest.warns(UserWarning, match=r"notes\.txt.*left out"):
        pipe = pipeline(fn.experimental.readers.video, file_root=str(tmp_path))
    assert pipe.reader_meta("Reader")["epoch_size"] == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="who may read everything sees no difference")
def test_a_folder_without_rights(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0)
    with pytest.raises(DaliLabError, match="permission"):
        pipeline(fn.experimental.readers.video, file_root=str(tmp_path)).run()


def test_damage_is_found_where_it_is(tmp_path: Path) -> None:
    """Later sequences come although one file is damaged in its middle."""
    samples.video(count=12).tofile(tmp_path / "good.webm")
    data = samples.video("libx264", "mp4", count=12, group=4).copy()
    data.tofile(tmp_path / "bad.mp4")
    with av.open(str(tmp_path / "bad.mp4")) as file:
        keys = [packet.pos for packet in file.demux(video=0) if packet.is_keyframe and packet.size]
    data[keys[1] : keys[1] + 50] = 0xFF
    data.tofile(tmp_path / "bad.mp4")
    names = [str(tmp_path / name) for name in ("bad.mp4", "good.webm")]
    pipe = pipeline(fn.experimental.readers.video, 1, filenames=names, sequence_length=4, enable_frame_num=True)
    count = pipe.reader_meta("Reader")["epoch_size"]
    good, errors = [], []
    for _ in range(count):
        try:
            good.append(rows(pipe)[0])
        except DaliLabError as error:
            errors.append(str(error))
    assert 1 <= len(errors) <= 2
    assert all("bad.mp4" in error and "damaged" in error for error in errors)
    np.testing.assert_array_equal(good[-1][0], decoded(names[1])[8:12])


def test_a_size_that_changes_is_an_error(tmp_path: Path) -> None:
    one, other = (samples.video("mjpeg", "mjpeg", count=3, size=size) for size in ((64, 48), (32, 48)))
    np.concatenate([one, other]).tofile(tmp_path / "changes.mjpeg")
    name = str(tmp_path / "changes.mjpeg")
    pipe = pipeline(fn.experimental.readers.video, 1, filenames=[name])
    np.testing.assert_array_equal(rows(pipe)[0][0].shape, (3, 48, 64, 3))
    with pytest.raises(DaliLabError, match=r"changes\.mjpeg|changes from 64 × 48 to 32 × 48"):
        pipe.run()


def test_a_checkpoint_goes_on(folder: Path) -> None:
    def make(checkpoint: str | None = None) -> dali_lab.Pipeline:
        pipe = dali_lab.Pipeline(2, 2, None, seed=3, enable_checkpointing=True, checkpoint=checkpoint)
        with pipe:
            frames, labels = fn.experimental.readers.video(
                file_root=str(folder), sequence_length=2, random_shuffle=True, initial_fill=3
            )
            pipe.set_outputs(frames, labels)
        pipe.build()
        return pipe

    pipe = make()
    rows(pipe, 3)
    saved = pipe.checkpoint()
    for one, other in zip(rows(pipe, 3), rows(make(saved), 3), strict=True):
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_round_trips(folder: Path) -> None:
    pipe = pipeline(fn.readers.video_resize, device="gpu", file_root=str(folder), resize_shorter=20, dtype=types.FLOAT)
    for form in ("json", "dali-serialized", "python"):
        assert loads(dumps(pipe.graph, form)) == pipe.graph


def test_old_names(folder: Path) -> None:
    assert aliases.ALIASES["video_reader"].successor == "readers.video"
    pipe = pipeline(fn.video_reader, device="gpu", filenames=[str(folder / "b/a.webm")])
    assert rows(pipe)[0][0].shape == (3, 48, 64, 3)
    assert dali_lab.ops.VideoReaderResize(device="gpu", filenames=["x"], sequence_length=1, size=(3, 4)) is not None
