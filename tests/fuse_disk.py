"""A FUSE file system that shows a folder: each read takes a while, and waits for as long as there is a file "stopped".

``python -m tests.fuse_disk FOLDER MOUNT`` speaks the kernel's protocol itself (linux/fuse.h, version 7.31), as root. It
prints a line once it is mounted, and ends when it is unmounted. The file "waiting" tells that a read waits.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

_HEADER = struct.Struct("<IIQQIIII")
_SECONDS = 0.002
_NO_ANSWER = (2, 36, 42)
"""FORGET, INTERRUPT, BATCH_FORGET."""


class Disk:
    """The files of a folder, by the numbers that the kernel knows them by."""

    def __init__(self, folder: Path) -> None:
        self.paths = [Path(), folder]
        self.answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: self.look_up, 3: self.attributes, 14: self.opened, 15: self.read, 18: self.nothing, 25: self.nothing,
            26: self.begin, 27: self.opened, 28: self.listed, 29: self.nothing, 34: self.nothing,
        }  # fmt: skip

    def begin(self, node: int, given: bytes) -> bytes:
        return struct.pack("<IIIIHHIIHH", 7, 31, 1 << 17, 0, 12, 9, 1 << 12, 1, 32, 0).ljust(64, b"\0")

    def look_up(self, node: int, given: bytes) -> bytes:
        path = self.paths[node] / os.fsdecode(given.rstrip(b"\0"))
        found = _attributes(path, len(self.paths))
        self.paths.append(path)
        return struct.pack("<QQQQII", len(self.paths) - 1, 0, 1, 1, 0, 0) + found

    def attributes(self, node: int, given: bytes) -> bytes:
        return struct.pack("<QII", 1, 0, 0) + _attributes(self.paths[node], node)

    def opened(self, node: int, given: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    def nothing(self, node: int, given: bytes) -> bytes:
        return b""

    def read(self, node: int, given: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", given)
        time.sleep(_SECONDS)
        if os.path.exists("stopped"):
            Path("waiting").touch()
            while os.path.exists("stopped"):
                time.sleep(0.005)
        with open(self.paths[node], "rb") as file:
            file.seek(offset)
            return file.read(size)

    def listed(self, node: int, given: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", given)
        entries = b""
        for index, name in enumerate(sorted(map(os.fsencode, os.listdir(self.paths[node])))[offset:], offset + 1):
            entry = struct.pack("<QQII", 1 << 40, index, len(name), 0) + name
            entry += bytes(-len(entry) % 8)
            if len(entries) + len(entry) > size:
                break
            entries += entry
        return entries

    def serve(self, device: int) -> None:
        """Answer the kernel until the file system is unmounted."""
        while True:
            try:
                request = os.read(device, 1 << 18)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                raise
            _, kind, identity, node, *_ = _HEADER.unpack_from(request)
            if kind in _NO_ANSWER:
                continue
            code, answer = 0, b""
            try:
                answer = self.answers[kind](node, request[_HEADER.size :])
            except KeyError:
                code = -errno.ENOSYS
            except OSError as error:
                code = -(error.errno or errno.EIO)
            try:
                os.write(device, struct.pack("<IiQ", 16 + len(answer), code, identity) + answer)
            except FileNotFoundError:  # the process that asked has ended
                continue


def _attributes(path: Path, node: int) -> bytes:
    found = os.stat(path)
    times = int(found.st_mtime)
    mode = (stat.S_IFDIR | 0o555) if stat.S_ISDIR(found.st_mode) else (stat.S_IFREG | 0o444)
    return struct.pack(
        "<QQQQQQIIIIIIIIII", node, found.st_size, 1, times, times, times, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
    )


def main() -> None:
    """Mount a folder and serve it."""
    folder, mount = sys.argv[1:]
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if ctypes.CDLL(None, use_errno=True).mount(b"slow", os.fsencode(mount), b"fuse", 6, options):
        raise OSError(ctypes.get_errno(), "cannot mount")
    os.write(1, b"mounted\n")
    Disk(Path(folder)).serve(device)


if __name__ == "__main__":
    main()
