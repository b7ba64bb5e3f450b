"""Index of a video's frames: their order, their times, and the key frame from which each is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError

Numbers = npt.NDArray[np.int64]


class PacketInfo(NamedTuple):
    """Header of a packet: its frame's time and kind; packets are in the order of the file.

    Attributes
    ----------
    pts
        When the frame is shown, in units of the stream's time base; `None` if the file does not say.
    key
        Decoding can begin here.
    shown
        It gives a frame that is shown.
    """

    pts: int | None
    key: bool
    shown: bool


class FrameIndex(NamedTuple):
    """The frames of a video in the order in which they are shown.

    Attributes
    ----------
    height, width
        Size of the frames.
    time_base
        Seconds of a unit of `pts`.
    pts
        ``int64[N]``, when each frame is shown; their places where the file does not say.
    begin
        ``int64[N]``, the packet with which decoding begins for each frame: that of a key frame.
    place
        ``int64[N]``, the packet of each frame.
    timed
        Frames are found by `pts`. Otherwise they are counted from the beginning of the file.
    """

    height: int
    width: int
    time_base: Fraction
    pts: Numbers
    begin: Numbers
    place: Numbers
    timed: bool

    def __len__(self) -> int:
        return len(self.pts)

    def seconds(self, numbers: Numbers) -> npt.NDArray[np.float64]:
        """Display times of frames, from the first one on, in NVIDIA DALI's order of rounding; −1 for the number −1."""
        since = (self.pts[numbers] - self.pts[0]).astype(np.float64)
        times = since * self.time_base.numerator / self.time_base.denominator
        return np.where(numbers < 0, -1.0, times)

    def at(self, seconds: float, *, down: bool) -> int:
        """The frame shown at a time, or the first one after it; the number of frames beyond the last one.

        Parameters
        ----------
        seconds
            As the file counts them; a frame's time is its `pts`.
        down
            Between two frames, take the one before.
        """
        pts = int(seconds * self.time_base.denominator / self.time_base.numerator)
        found = int(np.searchsorted(self.pts, pts))
        if found < len(self) and self.pts[found] > pts and down and found > 0:
            return found - 1
        return found


def frame_index(packets: Sequence[PacketInfo], size: tuple[int, int], time_base: Fraction) -> FrameIndex:
    """The frames that some packets hold.

    A frame that is shown before the key frame which precedes it in the file (open groups of pictures) needs the key
    frame before that one. Frames before the first key frame cannot be decoded, and are left out.

    Raises
    ------
    CodecError
        If there are none.
    """
    keys = [place for place, packet in enumerate(packets) if packet.key] or [0]
    times = [packet.pts for packet in packets if packet.shown]
    timed = None not in times and len(set(times)) == len(times)
    rows: list[tuple[int, int, int]] = []
    latest = -1
    for place, packet in enumerate(packets):
        if latest + 1 < len(keys) and keys[latest + 1] == place:
            latest += 1
        if not packet.shown or latest < 0:
            continue
        if not timed or packet.pts is None:
            rows.append((len(rows), 0, place))
            continue
        key = latest
        while key >= 0 and packet.pts < (packets[keys[key]].pts or 0):
            key -= 1
        if key >= 0 and packet.pts >= 0:
            rows.append((packet.pts, keys[key], place))
    if not rows:
        raise CodecError("the video has no frames")
    table = np.array(sorted(rows), np.int64)
    pts, begin, own = table.T.copy()
    return FrameIndex(*size, time_base, pts, begin, own, timed)
