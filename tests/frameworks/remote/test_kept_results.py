"""Caches in object stores: batches are those without a cache, whatever happens to the objects."""

# ruff: noqa: F811 (tests take fixtures that are imported here)

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from dali_lab.cli.entry import main
from dali_lab.executor.caching import remote_folder
from dali_lab.model.errors import ArgumentError
from tests.servers.s3 import S3
from tests.unit.pipeline.caching.conftest import any_disk, root  # noqa: F401
from tests.unit.pipeline.caching.graphs import COUNT, assert_same, kept, make, masked, taken, trained


@pytest.fixture
def memory() -> Iterator[str]:
    """A folder of fsspec's store in memory."""
    yield "memory://once/cache"
    fsspec.filesystem("memory").rm("/once", recursive=True)


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_same_batches(
    kind: str, root: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Filled, read by another pipeline, listed, checked and removed."""
    url = "s3://kept/cache" if kind == "s3" else request.getfixturevalue("memory")
    if kind == "s3":
        s3: S3 = request.getfixturevalue("s3")
        s3.client.create_bucket(Bucket="kept")
    expected = taken(make(trained, root))
    for _ in range(2):
        pipeline = make(trained, root, cache=url)
        assert_same(taken(pipeline), expected)
        assert kept(pipeline) == COUNT
        pipeline.close()
    assert len([part.samples for part in remote_folder.parts(url)]) == 1, "the second wrote nothing"
    assert main(["cache", "ls", url]) == 0
    assert f"{COUNT} samples" in capsys.readouterr().out
    assert main(["cache", "verify", url]) == 0
    assert f"{COUNT} samples are whole, 0 damaged" in capsys.readouterr().out
    assert main(["cache", "rm", url]) == 0
    assert main(["cache", "ls", url]) == 2


@pytest.mark.parametrize("harm", ["changed", "cut", "gone", "no index"])
def test_damage(harm: str, root: Path, memory: str) -> None:
    """Damaged objects are told of once, and what was in them is computed again."""
    expected = taken(make(trained, root))
    first = make(trained, root, cache=memory)
    taken(first)
    first.close()
    system = fsspec.filesystem("memory")
    for path in system.glob("/once/cache/*/*.data"):
        content = bytearray(system.cat_file(path))
        content[:: len(content) // 50] = bytes(len(content[:: len(content) // 50]))
        if harm == "changed":
            system.pipe_file(path, bytes(content))
        elif harm == "cut":
            system.pipe_file(path, bytes(content[:2000]))
        elif harm == "gone":
            system.rm_file(path)
        else:
            system.pipe_file(path.replace(".data", ".index"), b"nothing")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pipeline = make(trained, root, cache=memory)
        assert_same(taken(pipeline), expected)
        assert kept(pipeline) == COUNT
        pipeline.close()
    assert len(told) == 1
    assert "cache" in str(told[0].message)


def test_a_limit(root: Path, memory: str) -> None:
    """Samples that do not fit are computed; those that would fit compressed are compressed."""
    for define, count in ((trained, None), (masked, COUNT)):
        expected = taken(make(define, root))
        pipeline = make(define, root, cache=memory, cache_limit=20_000)
        assert_same(taken(pipeline), expected)
        assert kept(pipeline) == count or (count is None and 0 < kept(pipeline) < COUNT)
        pipeline.close()
        assert remote_folder.used_bytes(memory) <= 20_000
        remote_folder.remove(memory)


def test_places_that_are_none(root: Path, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other files are left alone; without a store training goes on."""
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "1")
    fsspec.filesystem("memory").pipe_file("/once/cache/mine.txt", b"mine")
    with pytest.raises(ArgumentError, match="holds other files"):
        make(trained, root, cache=memory).build()
    expected = taken(make(trained, root), 2)
    for url in ("http://127.0.0.1:9/cache", "nosuch://place/cache"):
        pipeline = make(trained, root, cache=url)
        with pytest.warns(RuntimeWarning, match="training goes on without a cache"):
            pipeline.build()
        assert_same(taken(pipeline, 2), expected)
        pipeline.close()
