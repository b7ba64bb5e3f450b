"""The cache of remote files on disk: objects are sent once, entries are whole or not there, and the limit holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import dali_lab
from dali_lab.io import files
from dali_lab.io.remote import cache
from dali_lab.io.remote.parts import FileParts, Part
from dali_lab.io.remote.requests import tried
from tests.servers.faults import Proxy, proxy
from tests.servers.web import web_server
from tests.unit.readers.records import write_tar

pytest.importorskip("obstore", reason="remote files (pip install dali-lab[remote])")


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Proxy]]:
    """A folder, a server of it behind a proxy, and a cache of 1 MB."""
    root = tmp_path / "served"
    root.mkdir()
    monkeypatch.setenv(cache.LIMIT, "1MB")
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "_state", cache._State())
    with web_server(root) as address, proxy(address) as between:
        yield root, between


def entries() -> list[Path]:
    return [path for path in cache.folder().glob("??/*") if not path.name.startswith(".")]


def test_an_object_is_sent_once_and_anew_when_it_changed(served: tuple[Path, Proxy]) -> None:
    root, between = served
    url = f"{between.address}/a.bin"
    (root / "a.bin").write_bytes(b"first" * 1000)
    sent: list[int] = []
    between.sent = sent.append
    assert files.read_file(url) == b"first" * 1000
    assert files.read_file(url) == b"first" * 1000
    assert sent == [5000, 0]
    (root / "a.bin").write_bytes(b"second" * 900)
    assert files.read_file(url) == b"second" * 900


def test_known_versions_need_no_request(served: tuple[Path, Proxy]) -> None:
    root, between = served
    url = f"{between.address}/a.bin"
    (root / "a.bin").write_bytes(os.urandom(9 << 10))
    info = tried(url, lambda store, key: store.info(key))
    for _ in range(2):
        parts = FileParts([url], [info])
        (data,) = parts.take([Part(0, 1000, 3000)])
        assert bytes(data) == (root / "a.bin").read_bytes()[1000:4000]
    assert [method for method, _ in between.requests] == ["HEAD", "GET"]


DAMAGES = [
    lambda data: data[:-1],
    lambda data: b"",
    lambda data: data[100:] + b"x" * 100,
    lambda data: data[:50] + b"x" + data[51:],
    lambda data: data[:699] + b"x" + data[700:],
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_not_used(served: tuple[Path, Proxy], damage: object) -> None:
    root, between = served
    url = f"{between.address}/a.bin"
    (root / "a.bin").write_bytes(b"content" * 100)
    files.read_file(url)
    (entry,) = entries()
    entry.write_bytes(damage(entry.read_bytes()))  # type: ignore[operator]
    assert files.read_file(url) == b"content" * 100


def test_the_limit_holds_and_the_latest_stay(served: tuple[Path, Proxy]) -> None:
    root, between = served
    for number in range(60):
        (root / f"{number}.bin").write_bytes(os.urandom(40_000))
        files.read_file(f"{between.address}/{number}.bin")
        assert sum(path.stat().st_size for path in entries()) <= 1 << 20
    before = len(between.requests)
    sent: list[int] = []
    between.sent = sent.append
    files.read_file(f"{between.address}/59.bin")
    assert (len(between.requests) - before, sent) == (1, [0])


WRITER = """
import sys
from dali_lab.io import files
for number in range(20):
    files.read_file(f"{sys.argv[1]}/{number}.bin")
    print(number, flush=True)
"""


def test_a_killed_process_leaves_whole_entries(served: tuple[Path, Proxy]) -> None:
    root, between = served
    contents = {f"{number}.bin": os.urandom(30_000) for number in range(20)}
    for name, content in contents.items():
        (root / name).write_bytes(content)
    for lines in (1, 5, 12):
        program = subprocess.Popen([sys.executable, "-c", WRITER, between.address], stdout=subprocess.PIPE)
        assert program.stdout is not None
        for _ in range(lines):
            assert program.stdout.readline()
        program.send_signal(signal.SIGKILL)
        program.wait()
        program.stdout.close()
    for name, content in contents.items():
        assert files.read_file(f"{between.address}/{name}") == content


def test_what_killed_processes_left_is_removed(served: tuple[Path, Proxy]) -> None:
    left = cache.folder() / "00" / ".new-left"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    cache.trim(1 << 20)
    assert left.exists(), "another process may be writing it"
    os.utime(left, (time.time() - 7200,) * 2)
    cache.trim(1 << 20)
    assert not left.exists()


def test_a_cache_that_cannot_be_written_is_told_once(
    served: tuple[Path, Proxy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, between = served
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "file"))
    for name in ("a", "b"):
        (root / name).write_bytes(name.encode())
    with pytest.warns(UserWarning, match="are not kept in"):
        assert files.read_file(f"{between.address}/a") == b"a"
    assert files.read_file(f"{between.address}/b") == b"b"


def test_a_limit_that_is_no_size(served: tuple[Path, Proxy], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.LIMIT, "much")
    with pytest.raises(OSError, match="must be a size such as 50GB, not 'much'"):
        files.read_file(f"{served[1].address}/a")


def test_an_archive_is_looked_through_once_for_each_version(
    served: tuple[Path, Proxy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(cache.LIMIT)
    root, between = served

    def write(count: int) -> None:
        write_tar(root / "a.tar", [(f"{number}.bin", bytes([number]) * 100_000) for number in range(count)])

    def first() -> tuple[int, int]:
        """Samples in the archive, and bytes that were sent until they were known."""
        sent: list[int] = []
        between.sent = sent.append
        pipe = dali_lab.Pipeline(1, 1, None)
        with pipe:
            pipe.set_outputs(dali_lab.fn.readers.webdataset(paths=f"{between.address}/a.tar", ext="bin", name="Reader"))
        pipe.build()
        count = pipe.reader_meta("Reader")["epoch_size"]
        pipe.close()
        return count, sum(sent)

    write(10)
    count, sent = first()
    assert count == 10
    assert sent > 5000
    assert first() == (10, 0)
    write(12)
    assert first()[0] == 12
