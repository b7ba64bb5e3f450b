"""A remote file as an object that is read and sought like an open file, in blocks that are read ahead."""

from __future__ import annotations

import io
from collections import OrderedDict
from concurrent.futures import Future

from dali_lab.io.remote import cache
from dali_lab.io.remote.requests import submit, tried
from dali_lab.io.remote.store import Info, Kind, StoreError

_SMALL = 64 << 10
"""Bytes of the first blocks, and of those after a jump; they double from block to block while reading goes on."""
_LARGEST = 4 << 20
_KEPT = 8


class RemoteFile(io.RawIOBase):
    """A file in a store. Its version is that of when it was opened: another one is an error.

    Parameters
    ----------
    url
        The file.

    Raises
    ------
    StoreError
        If it cannot be read.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self.info: Info = tried(url, lambda store, key: store.info(key))
        if self.info.size < 0:
            raise StoreError(
                Kind.WRONG, "the server does not tell how many bytes it has, so that it can only be read as a whole"
            )
        self._place = 0
        self._blocks: OrderedDict[int, tuple[int, Future[memoryview]]] = OrderedDict()
        self._size = _SMALL

    @property
    def name(self) -> str:
        return self._url

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.info.size}[whence]
        if base + offset < 0:
            raise ValueError("a place before the beginning of the file")
        self._place = base + offset
        return self._place

    def readall(self) -> bytes:
        data = self._fetch(self._place, max(self.info.size - self._place, 0))
        self._place += len(data)
        return bytes(data)

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        target = memoryview(buffer).cast("B")
        wanted = min(len(target), self.info.size - self._place)
        if wanted <= 0:
            return 0
        begin, data = self._block(self._place)
        piece = data[self._place - begin : self._place - begin + wanted]
        target[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)

    def _block(self, place: int) -> tuple[int, memoryview]:
        """The block that holds a byte; the one behind it is on its way."""
        for begin, (size, _) in self._blocks.items():
            if begin <= place < begin + size:
                break
        else:
            self._size = _SMALL
            begin = place
            self._begin(begin)
        size, future = self._blocks[begin]
        self._blocks.move_to_end(begin)
        behind = begin + size
        if behind < self.info.size and not any(b <= behind < b + s for b, (s, _) in self._blocks.items()):
            self._size = min(2 * self._size, _LARGEST)
            if begin or place > begin:
                self._begin(behind)
        try:
            return begin, future.result()
        except OSError:
            del self._blocks[begin]
            raise

    def _begin(self, begin: int) -> None:
        size = min(self._size, self.info.size - begin)
        self._blocks[begin] = size, submit(lambda: self._fetch(begin, size))
        while len(self._blocks) > _KEPT:
            self._blocks.popitem(last=False)

    def _fetch(self, start: int, count: int) -> memoryview:
        data, info = cache.fetch(self._url, start, count, self.info, lambda: self.closed)
        if info != self.info or len(data) != count:
            raise StoreError(Kind.CHANGED, "it was replaced or changed while it was read")
        return data
