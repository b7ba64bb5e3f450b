"""Frames of video by number: the same as when all are decoded in order, whatever the codec and the file's form."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from av.video.reformatter import Interpolation

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.video import Video
from dali_lab.schema import samples

Array = npt.NDArray[Any]
QUIET = (("x265-params", "log-level=none"),)
OPEN_GROUPS = (("x264-params", "open-gop=1:keyint=5:bframes=3"),)
KINDS: dict[str, dict[str, Any]] = {
    "H.264 in MP4": {"codec": "libx264", "container": "mp4"},
    "H.264 with open groups in Matroska": {"codec": "libx264", "container": "matroska", "options": OPEN_GROUPS},
    "H.264 in a transport stream": {"codec": "libx264", "container": "mpegts"},
    "H.264 in a program stream": {"codec": "libx264", "container": "mpeg"},
    "H.264 by itself": {"codec": "libx264", "container": "h264"},
    "H.264 in AVI": {"codec": "libx264", "container": "avi"},
    "HEVC in MP4": {"codec": "libx265", "container": "mp4", "options": QUIET},
    "MPEG-4 in AVI": {"codec": "mpeg4", "container": "avi"},
    "MPEG-4 in MP4": {"codec": "mpeg4", "container": "mp4"},
    "MJPEG in AVI": {"codec": "mjpeg", "container": "avi"},
    "VP8 in WebM": {"codec": "libvpx", "container": "webm"},
    "VP9 of variable rate": {"codec": "libvpx-vp9", "container": "webm", "times": (*range(0, 20, 2), *range(30, 45))},
    "AV1 in MP4": {"codec": "libsvtav1", "container": "mp4"},
}


def file(kind: str) -> Array:
    return samples.video(**{"count": 25, "group": 5, **KINDS[kind]})


def in_order(data: Array) -> Array:
    flags = Interpolation.BILINEAR | Interpolation.FULL_CHR_H_INT | Interpolation.ACCURATE_RND
    with av.open(io.BytesIO(data.tobytes())) as container:
        return np.stack(
            [
                frame.reformat(
                    format="rgb24",
                    src_colorspace=5,
                    src_color_range=2 if frame.color_range == 2 else 1,
                    interpolation=flags,
                ).to_ndarray()
                for frame in container.decode(video=0)
            ]
        )


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_frames_by_number(kind: str, on_disk: bool, tmp_path: Path) -> None:
    data = file(kind)
    path = tmp_path / "a:video"
    data.tofile(path)
    expected = in_order(data)
    video = Video(str(path) if on_disk else data)
    assert (len(video.index), video.index.height, video.index.width) == expected.shape[:3]
    choose = random.Random(3)
    for count in (25, 1, 1, 3, 2, 4, 1, 3, 5, 2):
        numbers = choose.sample(range(25), count)
        numbers += numbers[:1]
        outs = np.zeros((len(numbers), *expected.shape[1:]), np.uint8)
        video.decode(numbers, list(outs))
        np.testing.assert_array_equal(outs, expected[numbers])
    video.close()


def test_times() -> None:
    index = Video(file("VP9 of variable rate")).index
    np.testing.assert_allclose(index.seconds(np.array([0, 1, 10, -1])), [0, 0.08, 1.2, -1])
    assert [index.at(seconds, down=True) for seconds in (0.0, 0.07, 0.08, 1.0, 9.0)] == [0, 0, 1, 9, 25]
    assert [index.at(seconds, down=False) for seconds in (0.0, 0.07, 0.08, 1.0, 9.0)] == [0, 1, 1, 10, 25]


def test_a_short_window_costs_its_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    video = Video(file("H.264 in MP4"))
    assert len(video.index) == 25
    fed = []
    once = video._decoded_packet
    monkeypatch.setattr(video, "_decoded_packet", lambda packet: fed.append(packet) or once(packet))
    video.decode([16, 17], list(np.zeros((2, 48, 64, 3), np.uint8)))
    assert len(fed) <= 10
    video.decode([18], list(np.zeros((1, 48, 64, 3), np.uint8)))
    assert len(fed) <= 11


@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("kind", ["H.264 in MP4", "MPEG-4 in AVI"])
def test_what_is_cut_short_says_so(kind: str, share: float) -> None:
    data = file(kind)
    with pytest.raises(CodecError, match=r"cut short|damaged|not a video that can be read|no frame"):
        Video(data[: int(share * len(data))]).decode(range(25), list(np.zeros((25, 48, 64, 3), np.uint8)))


def test_a_file_whose_table_promises_more(tmp_path: Path) -> None:
    path = str(tmp_path / "video.mp4")
    with (
        av.open(io.BytesIO(file("MPEG-4 in MP4").tobytes())) as source,
        av.open(path, "w", options={"movflags": "faststart"}) as target,
    ):
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                target.mux(packet)
    data = np.fromfile(path, np.uint8)
    assert len(Video(data).index) == 25
    with pytest.raises(CodecError, match="cut short"):
        Video(data[: int(0.8 * len(data))]).index  # noqa: B018


def test_damaged_bytes_end_in_an_error_or_in_frames() -> None:
    rng = np.random.default_rng(0)
    for kind in KINDS:
        data = file(kind).copy()
        for _ in range(4):
            bad = data.copy()
            bad[rng.integers(0, len(bad), 6)] = rng.integers(0, 256, 6)
            try:
                video = Video(bad)
                count, height, width = len(video.index), video.index.height, video.index.width
                if height * width < 1 << 16:
                    video.decode(range(count), list(np.zeros((count, height, width, 3), np.uint8)))
            except CodecError:
                pass


def test_numbers_that_are_not_there() -> None:
    video = Video(file("MJPEG in AVI"))
    with pytest.raises(CodecError, match="no frame 25: the video has 25 frames"):
        video.decode([25], [np.zeros((48, 64, 3), np.uint8)])
    video.decode([24], [np.zeros((48, 64, 3), np.uint8)])


def test_the_library_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = file("MJPEG in AVI")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(CodecError, match=r"PyAV, which is not installed: pip install 'dali-lab\[video\]'"):
        Video(data)
