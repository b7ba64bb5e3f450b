"""Video from files and bytes, by PyAV (FFmpeg's libraries): single frames by number, as RGB or YCbCr."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.video_index import FrameIndex, PacketInfo, frame_index
from dali_lab.io.files import open_file, reason
from dali_lab.io.locations import canonical, is_remote
from dali_lab.io.roots import limited, open_within

_TEXT_CODECS = frozenset(("ansi", "bintext", "idf", "xbin"))
"""Text that FFmpeg draws as a picture."""
_FULL_RANGE = 2
_LIMITED_RANGE = 1
_BT601 = 5
_NOWHERE = 1 << 60


class VideoHeader(NamedTuple):
    """Header of a video file, known before any frame is read.

    Attributes
    ----------
    height, width
        Size of the frames.
    codec
        FFmpeg's name of the codec, such as ``h264``.
    rate
        Frames a second on average; 0 if the file does not say.
    frames
        Number of frames; 0 if the file does not say.
    """

    height: int
    width: int
    codec: str
    rate: Fraction
    frames: int


class Video:
    """A video that is open: decodes frames by number, one thread at a time.

    Decoding goes on where it was left when that is the shortest way, and begins at a key frame otherwise.

    Parameters
    ----------
    source
        The path of a file, or the bytes of one.
    index
        :attr:`index` from an earlier use of the same file.

    Raises
    ------
    CodecError
        If PyAV is not installed, or there is no video that can be decoded.
    """

    def __init__(self, source: str | Buffer, index: FrameIndex | None = None) -> None:
        self._av = _library()
        self._path = canonical(source) if isinstance(source, str) else None
        self._bytes = None if isinstance(source, str) else bytes(memoryview(source))
        self._kept: list[Any] | None = None
        self._index = index
        self._container: Any = None
        self._file: IO[bytes] | None = None
        self._converter = self._av.video.reformatter.VideoReformatter()
        self._decoding: Iterator[tuple[int, Any]] = iter(())
        self._damage: list[tuple[int, str]] = []
        self._open()

    # -- header and index ---------------------------------------------------------------------------------------

    @property
    def header(self) -> VideoHeader:
        """The file's header."""
        context = self._stream.codec_context
        rate = self._stream.average_rate or Fraction(0)
        return VideoHeader(context.height, context.width, context.name, rate, self._stream.frames)

    @property
    def first_duration(self) -> Fraction:
        """Seconds for which the first frame is shown by its packet; 0 if it does not say."""
        for packet in self._packets(0):
            base: Fraction = self._stream.time_base
            return (packet.duration or 0) * base
        return Fraction(0)

    @property
    def known(self) -> bool:
        """Whether :attr:`index` is there without reading the file."""
        return self._index is not None

    @property
    def index(self) -> FrameIndex:
        """Its frames; the packets of the whole file are read for it once, and none is decoded.

        Raises
        ------
        CodecError
            If the file is damaged or cut short.
        """
        if self._index is None:
            self._index = self._scan()
        return self._index

    def _scan(self) -> FrameIndex:
        infos: list[PacketInfo] = []
        kept: list[Any] = []
        hidden_frames = self._stream.codec_context.name.endswith("vp8") or self._stream.codec.name.endswith("vp8")
        for packet in self._packets(0):
            if packet.is_corrupt:
                raise CodecError(f"the file is cut short in frame {len(infos)}")
            shown = not packet.is_discard and not (hidden_frames and not memoryview(packet)[0] >> 4 & 1)
            pts = packet.pts
            infos.append(PacketInfo(pts, packet.is_keyframe, shown and (pts is None or pts >= 0)))
            if self._bytes is not None:
                kept.append(packet)
        promised = self._stream.frames if "mov" in self._container.format.name else 0
        if len(infos) < promised:
            raise CodecError(f"the file is cut short: {len(infos)} of {promised} frames are there")
        context = self._stream.codec_context
        if self._container.format.name == "avi" and context.has_b_frames:
            # AVI has no times: those of frames that are decoded in another order are made up.
            infos = [info._replace(pts=None) for info in infos]
        index = frame_index(infos, (context.height, context.width), self._stream.time_base)
        self._kept = kept if self._bytes is not None else None
        return index

    # -- frames ---------------------------------------------------------------------------------------------------

    def distance(self, number: int) -> int:
        """Frames to be decoded before this one: the decoder with the fewest is chosen."""
        begin = int(self.index.begin[number])
        if self._can_go_on(number):
            return max(0, number - self._shown)
        return number - int(np.searchsorted(self.index.begin, begin)) + 1

    def decode(self, numbers: Sequence[int], outs: Sequence[npt.NDArray[np.uint8]], *, ycbcr: bool = False) -> None:
        """Decode frames.

        Parameters
        ----------
        numbers
            Which frames, in any order; some may be there several times.
        outs
            Memory for each of them, ``[height, width, 3]``.
        ycbcr
            Leave the colours as YCbCr. Otherwise they become RGB by the matrix of BT.601, whatever the file says of its
            own, and by the range of the file: that is what NVIDIA DALI does.

        Raises
        ------
        CodecError
            If one of them is damaged or not there.
        """
        places: dict[int, list[int]] = {}
        for place, number in enumerate(numbers):
            places.setdefault(int(number), []).append(place)
        for number in sorted(places):
            first, *others = places[number]
            self._convert(self._frame(number), number, outs[first], ycbcr)
            for place in others:
                outs[place][...] = outs[first]

    def _frame(self, number: int) -> Any:
        """Decode up to a frame."""
        if not 0 <= number < len(self.index):
            raise CodecError(f"there is no frame {number}: the video has {len(self.index)} frames")
        if not self._can_go_on(number):
            self._go_to(int(self.index.begin[number]))
        try:
            following: Iterator[tuple[int, Any]] = (found for found in self._decoding if found[0] >= number)
            shown, frame = next(following, (-1, None))
        except CodecError:
            self._shown = _NOWHERE
            raise
        # Packets after a damaged one need it, up to the next key frame.
        first, last = int(self.index.begin[number]), int(self.index.place[number])
        reasons = [reason for packet, reason in self._damage if first <= packet <= last]
        if frame is not None and shown == number and not reasons and not frame.is_corrupt:
            return frame
        if shown != number:
            self._shown = _NOWHERE
        raise CodecError(f"frame {number} is damaged{': ' + reasons[0] if reasons else ''}")

    def _can_go_on(self, number: int) -> bool:
        """Whether the frame follows the last one without a key frame to leap to."""
        if self._shown >= number:
            return False
        return int(self.index.begin[number]) <= self._fed

    def _go_to(self, packet: int) -> None:
        self._decoding = self._decoded(packet)
        self._damage = []
        self._shown = int(np.searchsorted(self.index.begin, packet)) - 1 if packet else -1
        self._fed = packet

    def _decoded(self, packet: int) -> Iterator[tuple[int, Any]]:
        """Frames with their numbers from a key frame on; those that are not in the index are left out."""
        index = self.index
        packets = self._packets(packet)
        self._stream.codec_context.flush_buffers()
        counted = -1
        for piece in packets:
            for frame in self._decoded_packet(piece):
                counted += 1
                number = self._number(frame.pts, index) if index.timed else counted
                if number is not None:
                    self._shown = number
                    yield number, frame
        for frame in self._decoded_packet(None):
            counted += 1
            number = self._number(frame.pts, index) if index.timed else counted
            if number is not None:
                self._shown = number
                yield number, frame

    def _decoded_packet(self, packet: Any) -> list[Any]:
        """The frames that a packet brings to an end, after `None` those that are left."""
        frames: list[Any] = []
        try:
            frames = self._stream.codec_context.decode(packet)
        except self._av.FFmpegError as error:
            self._damage.append((self._fed, reason(error)))
        self._fed += packet is not None
        return frames

    @staticmethod
    def _number(pts: int | None, index: FrameIndex) -> int | None:
        if pts is None:
            return None
        number = int(np.searchsorted(index.pts, pts))
        return number if number < len(index) and index.pts[number] == pts else None

    def _convert(self, frame: Any, number: int, out: npt.NDArray[np.uint8], ycbcr: bool) -> None:
        height, width = out.shape[:2]
        if (frame.height, frame.width) != (height, width):
            raise CodecError(
                f"the size of its frames changes from {width} × {height} to {frame.width} × {frame.height} "
                f"at frame {number}"
            )
        import cv2

        flags = self._av.video.reformatter.Interpolation
        full = frame.color_range == _FULL_RANGE or frame.format.name.startswith("yuvj")
        value_range = _FULL_RANGE if full else _LIMITED_RANGE
        # Planes take a quarter of the time of pixels, and have the same numbers but where FFmpeg blends rows of
        # chrominance by other weights than quarters.
        planar = ycbcr or frame.format.chroma_height(height) * 2 in (height, 2 * height)
        converted = self._converter.reformat(
            frame,
            format="yuv444p" if ycbcr else "gbrp" if planar else "rgb24",
            src_colorspace=_BT601,
            dst_colorspace=_BT601 if ycbcr else None,
            interpolation=flags.BILINEAR | flags.FULL_CHR_H_INT | flags.ACCURATE_RND,
            src_color_range=value_range,
            dst_color_range=_LIMITED_RANGE if ycbcr else None,
            threads=1,
        )
        if not planar:
            out.reshape(height, -1)[...] = _rows(converted.planes[0], height)[:, : 3 * width]
            return
        planes = [_rows(plane, height)[:, :width] for plane in converted.planes]
        merged = cv2.merge(planes if ycbcr else [planes[2], planes[0], planes[1]], out)
        if merged is not out:
            out[...] = merged

    # -- packets --------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self.close()
        self._decoding = iter(())
        self._shown, self._fed, self._fresh = _NOWHERE, 0, True
        # A name with a colon in it is no address, and lists of files do not lead to others.
        source: str | IO[bytes] = f"file:{self._path}" if self._path is not None else io.BytesIO(self._bytes or b"")
        if not self._bytes and self._path is None:
            raise CodecError("not a video: it is empty")
        try:
            if self._path is not None and is_remote(self._path):
                source = open_file(self._path)
                if not source.seek(0, io.SEEK_END):
                    raise CodecError("not a video: the file is empty")
                source.seek(0)
            elif self._path is not None and limited():
                source = self._file = open_within(self._path)
            if self._path is not None and not is_remote(self._path) and not os.path.getsize(self._path):
                raise CodecError("not a video: the file is empty")
            self._container = self._av.open(source, metadata_errors="replace", options={"protocol_whitelist": "file"})
        except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
            raise CodecError(reason(error, self._path or "")) from None
        except (self._av.FFmpegError, OSError) as error:
            raise CodecError(f"not a video that can be read: {reason(error)}") from None
        streams = [
            stream
            for stream in self._container.streams.video
            if not stream.disposition & self._av.stream.Disposition.attached_pic
        ]
        if not streams:
            kinds = sorted({stream.type for stream in self._container.streams})
            self.close()
            raise CodecError(f"it has no video{', only ' + ' and '.join(kinds) if kinds else ''}")
        best = self._container.streams.best("video")
        self._stream = best if best in streams else streams[0]
        context = self._stream.codec_context
        if context is None or context.name in _TEXT_CODECS:
            self.close()
            raise CodecError("no codec here decodes its video" if context is None else "it is text, not a video")
        if context.width <= 0 or context.height <= 0:
            self.close()
            raise CodecError("the size of its frames is not known: the file is damaged or cut short")
        context.thread_count = 1

    def _packets(self, first: int) -> Iterator[Any]:
        """The packets of the video from one on."""
        if self._kept is not None:
            yield from self._kept[first:]
            return
        skip = self._seek(first)
        try:
            for packet in self._container.demux(self._stream):
                if packet.size == 0 and packet.dts is None:
                    continue  # PyAV's sign of the end
                if skip:
                    skip -= 1
                    continue
                yield packet
        except self._av.FFmpegError as error:
            raise CodecError(f"the file is damaged or cut short: {reason(error)}") from None

    def _seek(self, packet: int) -> int:
        """Seek a packet, or one before it; returns how many are in between."""
        index = self._index
        fresh, self._fresh = self._fresh, False
        if fresh and packet == 0:
            return 0
        if packet and index is not None and index.timed:
            pts = int(index.pts[np.searchsorted(index.begin, packet)])
            found = self._sought(pts)
            if found is not None:
                return found
        self._open_again()
        return packet

    def _sought(self, pts: int) -> int | None:
        """Seek the key frame that is shown at `pts`; 0 if the next packet is that one."""
        try:
            self._container.seek(pts, stream=self._stream, backward=True)
            for packet in self._container.demux(self._stream):
                if packet.pts == pts and packet.is_keyframe:
                    self._container.seek(pts, stream=self._stream, backward=True)
                    return 0
                return None
        except self._av.FFmpegError:
            pass
        return None

    def _open_again(self) -> None:
        state = self._decoding, self._shown, self._fed
        self._open()
        self._decoding, self._shown, self._fed = state
        self._fresh = False

    def close(self) -> None:
        """Close the file."""
        container, self._container = self._container, None
        if container is not None:
            container.close()
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _rows(plane: Any, height: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(plane, np.uint8)[: height * plane.line_size].reshape(height, plane.line_size)


def _library() -> Any:
    try:
        import av
        import av.stream
        import av.video.reformatter
    except ImportError:
        raise CodecError("decoding video needs PyAV, which is not installed: pip install 'dali-lab[video]'") from None
    return av


__all__ = ["CodecError", "FrameIndex", "Video", "VideoHeader"]
