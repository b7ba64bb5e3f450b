"""Folders of caches: parts, limits, versions, compression, and commands about them."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dali_lab import fn, formats
from dali_lab.cli.entry import main
from dali_lab.executor.caching import compression, folder_store, written_store
from dali_lab.executor.caching.folder import MARK, make_room, open_folder, parts, used_bytes
from dali_lab.formats.registry import FORMATS
from dali_lab.model.errors import ArgumentError
from tests.unit.pipeline.caching.graphs import (
    COUNT,
    assert_same,
    by_name,
    fill,
    flip_bits,
    kept,
    make,
    masked,
    read,
    taken,
    trained,
    validated,
)


def test_another_argument_is_another_part(root: Path, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")

    def sized(size: int, name: str, area: float = 0.5) -> Callable[[Path], Any]:
        def define(root: Path) -> Any:
            encoded, _ = read(root, random_shuffle=size == 16)
            images = fn.resize(fn.decoders.image(encoded, name=name), size=(size, size), antialias=True)
            return fn.flip(images, horizontal=fn.random.coin_flip(probability=area))

        return define

    for define in (sized(16, "a"), sized(16, "b", 0.1), sized(17, "a")):
        pipeline = make(define, root, cache=cache)
        assert_same(taken(pipeline), taken(make(define, root)))
        kept(pipeline)
        pipeline.close()
    assert [part.samples for part in parts(Path(cache))] == [COUNT, COUNT]


@pytest.mark.parametrize("limit", [1, 8_000, 20_000])
def test_a_limit(limit: int, root: Path, cache: str) -> None:
    expected = taken(make(trained, root))
    for _ in range(2):
        pipeline = make(trained, root, cache=cache, cache_limit=limit)
        assert_same(taken(pipeline), expected)
        assert kept(pipeline) < COUNT
        if cache != "memory":
            assert used_bytes(Path(cache)) <= limit
        pipeline.close()


def test_what_waits_to_be_written_is_bounded(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_store, "PENDING", 20_000)
    expected = taken(make(trained, root))
    pipeline = make(trained, root, cache=str(tmp_path / "cache"))
    assert_same(taken(pipeline), expected)
    pipeline.close()


def test_other_files_are_left_alone(root: Path) -> None:
    with pytest.raises(ArgumentError, match=r"'cache'.*holds other files"):
        make(validated, root, cache=str(root)).build()
    with pytest.raises(ArgumentError, match="is a file"):
        make(validated, root, cache=str(next(root.rglob("*.jpg")))).build()
    for wrong in ("", "s3://user:word@bucket/cache", b"cache", 3):
        with pytest.raises(ArgumentError, match="cache"):
            make(validated, root, cache=wrong).build()


@pytest.mark.parametrize("place", ["cache", "x/cache", "link/cache", "a/cache", "b/../cache"])
def test_a_cache_among_the_classes(place: str, root: Path, tmp_path: Path) -> None:
    """A folder in that of the classes would be a class, and shift the labels of those behind it."""
    (tmp_path / "link").symlink_to(root)
    folder = tmp_path / place if "link" in place else root / place
    expected = taken(make(validated, root))
    pipeline = make(validated, root, cache=str(folder))
    if place == "a/cache":
        assert_same(taken(pipeline), expected)
        pipeline.close()
    else:
        with pytest.raises(ArgumentError, match=r"\(fn.readers.file\) lists in .* change labels"):
            pipeline.build()
        assert not folder.exists()
    chosen = make(lambda _: fn.decoders.image(read(root, dir_filters=["a", "b"])[0]), root, cache=str(folder))
    chosen.build()
    chosen.close()


def test_an_older_cache(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    open_folder(cache)
    (cache / MARK).write_text('{"format": 0}')
    expected = taken(make(validated, root))
    pipeline = make(validated, root, cache=str(cache))
    with pytest.warns(RuntimeWarning, match="another version"):
        pipeline.build()
    assert_same(taken(pipeline), expected)
    assert [path.name for path in cache.iterdir()] == [MARK]


def test_what_is_used_is_counted_while_others_write(tmp_path: Path) -> None:
    """Folders in which other processes write a file whole come and go in that of the cache."""
    for part in ("first", "second"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "0.data").write_bytes(bytes(100))
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            tempfile.TemporaryDirectory(dir=tmp_path).cleanup()

    writing = threading.Thread(target=write)
    writing.start()
    try:
        assert {used_bytes(tmp_path) for _ in range(500)} == {200}
        assert all(sum(part.nbytes for part in parts(tmp_path)) == 200 for _ in range(100))
    finally:
        ended.set()
        writing.join()


def test_room_is_made_by_worth(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    fill(root, cache, validated)
    fill(root, cache, by_name)
    first, second = parts(cache)
    yesterday = time.time() - 86400
    for path in cache.glob("*/*"):
        os.utime(path, (yesterday, yesterday))
    values = {cache / part.name: part.seconds / part.nbytes for part in (first, second)}
    cheap, dear = sorted(values, key=lambda path: values[path])
    between = (values[cheap] + values[dear]) / 2
    assert make_room(cache, tmp_path, 1, between) > 0
    assert not list(cheap.glob("*.data"))
    assert list(dear.glob("*.data"))
    assert make_room(cache, tmp_path, 1, between) == 0, "what is left costs more to make again"
    assert make_room(cache, dear, 1, 1e9) == 0, "nothing of the own part"


def test_travels_with_the_graph(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = str(tmp_path / "cache")
    graph = make(by_name, root, cache=cache, cache_limit=10**8).graph
    for name in ("json", "python"):
        again = formats.loads(formats.dumps(graph, name))
        assert again == graph
        assert again.pipeline["cache"] == cache
        assert again.pipeline["cache_limit"] == 10**8
    for name in ("dali-serialized", "nvidia-python"):
        assert any("computes everything anew" in sentence for sentence in FORMATS[name].lost(graph))
        again = formats.loads(formats.dumps(graph, name))
        assert "cache" not in {node.op for node in again.nodes.values()}
        assert len(again.nodes) == len(graph.nodes) - 1
    target = tmp_path / "graph.dali.json"
    formats.dump(make(validated, root).graph, target)
    arguments = ["run", str(target), "--batches", "4", "--cache", cache, "--cache-limit", "100000000"]
    assert main([*arguments, "--cache-at", "images"]) == 0, capsys.readouterr()
    assert sum(part.samples for part in parts(Path(cache))) == COUNT


def test_commands(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = tmp_path / "cache"
    fill(root, cache)
    assert main(["cache", "ls", str(cache)]) == 0
    assert f"{COUNT} samples" in capsys.readouterr().out
    assert main(["cache", "verify", str(cache)]) == 0
    assert f"{COUNT} samples are whole, 0 damaged" in capsys.readouterr().out
    (data,) = cache.glob("*/*.data")
    flip_bits(data)
    assert main(["cache", "verify", str(cache)]) == 1
    (cache / "notes.txt").write_text("mine")
    assert main(["cache", "rm", str(cache)]) == 0
    assert [path.name for path in cache.rglob("*")] == ["notes.txt"]
    assert main(["cache", "rm", str(root)]) == 2
    assert "is no cache folder" in capsys.readouterr().err
    assert len(list(root.rglob("*.jpg"))) == COUNT


def test_compressed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow disk what gets much smaller is compressed; damage of it is noticed."""
    cache = tmp_path / "cache"
    expected = taken(make(masked, root))
    for rate, shrinks in ((1e12, False), (1e5, True)):
        monkeypatch.setattr(folder_store, "rate_of_disk", lambda folder, nbytes, rate=rate: rate)
        for _ in range(2):
            assert_same(fill(root, cache, masked), expected)
        assert (used_bytes(cache) < COUNT * 64 * 64) == shrinks
        if not shrinks:
            shutil.rmtree(cache)
    assert main(["cache", "verify", str(cache)]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(compression, "has_codecs", lambda: False)
        patch.setattr(written_store, "has_codecs", lambda: False)
        with pytest.warns(RuntimeWarning, match="take the package imagecodecs"):
            assert_same(fill(root, cache, masked), expected)
    shutil.rmtree(cache)
    fill(root, cache, masked)
    for path in cache.glob("*/*.data"):
        flip_bits(path)
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert_same(fill(root, cache, masked), expected)
