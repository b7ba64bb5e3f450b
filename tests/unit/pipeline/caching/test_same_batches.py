"""With a cache, batches are those without: to the bit, in order, in every epoch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import fn
from dali_lab.executor.caching.recall import CachedSteps
from dali_lab.model.errors import GraphError
from tests.unit.pipeline.caching.graphs import (
    BATCHES,
    COUNT,
    GRAPHS,
    LONG_AGO,
    assert_same,
    augmented,
    by_name,
    damage,
    kept,
    make,
    read,
    taken,
    trained,
    validated,
    viewed,
    write_picture,
)
from tests.unit.readers import datasets


@pytest.mark.parametrize("define", GRAPHS)
@pytest.mark.parametrize("threads", [1, 3])
def test_same_batches(define: Callable[[Path], Any], threads: int, root: Path, cache: str) -> None:
    expected = taken(make(define, root))
    assert not any(isinstance(batch, str) for batch in expected)
    for _ in range(2):
        pipeline = make(define, root, cache=cache, num_threads=threads)
        assert_same(taken(pipeline), expected)
        assert kept(pipeline) >= COUNT
        pipeline.close()


def test_nothing_is_read_twice(root: Path, cache: str) -> None:
    """The second epoch comes from the cache: the bytes of the files could be anything of their size and time."""
    expected = taken(make(trained, root))
    pipeline = make(trained, root, cache=cache, prefetch_queue_depth=1)
    assert_same(taken(pipeline, 3), expected[:3])
    assert kept(pipeline) == COUNT
    for path in root.rglob("*.jpg"):
        path.write_bytes(b"\0" * path.stat().st_size)
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert_same(taken(pipeline, 3), expected[3:6])
    pipeline.close()


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("kind", sorted(set(datasets.ALL) - {"video"}))
def test_every_reader(kind: str, checksum: bool, tmp_path: Path) -> None:
    """Samples of all readers are kept, and read anew once their files have changed: by their times, or their bytes."""
    if kind == "nemo_asr":
        pytest.importorskip("soundfile")
    folder = tmp_path / "data"
    folder.mkdir()
    dataset = datasets.ALL[kind](folder, datasets.pictures(8))

    def touch(at: int) -> None:
        for path in folder.rglob("*"):
            os.utime(path, (at, at))

    def read(_: Path) -> Any:
        data = dataset.read(random_shuffle=True)
        data = fn.cache(fn.decoders.image(data) if dataset.encoded else data)
        return data, fn.get_property(data, key="source_info")

    touch(LONG_AGO)
    expected = taken(make(read, folder), 4)
    for at, count in ((LONG_AGO, 8), (LONG_AGO, 8), (LONG_AGO + 9, 8 if checksum else 16)):
        touch(at)
        pipeline = make(read, folder, cache=str(tmp_path / "cache"), cache_checksum=checksum)
        assert_same(taken(pipeline, 4), expected)
        assert kept(pipeline) == count
        pipeline.close()


@pytest.mark.parametrize(("size", "above", "count"), [(1, 0, COUNT), (1, 9000, 8), (0, 0, 0), (1, 1 << 20, 0)])
@pytest.mark.filterwarnings("ignore:.*GPU")
def test_the_cache_of_a_decoder(size: int, above: int, count: int, root: Path) -> None:
    """``cache_size`` of a "mixed" decoder keeps what it decodes; pictures differ in width, and so in bytes."""

    def decoded(root: Path, **more: Any) -> Any:
        encoded, labels = read(root)
        images = fn.decoders.image(encoded, device="mixed", **more)
        return fn.resize(images.cpu(), size=(8, 8)), labels

    expected = taken(make(decoded, root, device_id=0))
    arguments = {"cache_size": size, "cache_threshold": above, "cache_type": "threshold"}
    pipeline = make(lambda root: decoded(root, **arguments), root, device_id=0)
    assert_same(taken(pipeline), expected)
    assert pipeline._runner is not None
    store = pipeline._runner.kept and pipeline._runner.kept.store
    assert (0 if store is None else len(store.entries)) == count
    pipeline.close()


def test_shards_and_their_number(root: Path, tmp_path: Path) -> None:
    """Two ranks fill a folder together; one of another number of threads finds what both wrote."""

    def sharded(shard: int, shards: int) -> Callable[[Path], Any]:
        def define(root: Path) -> Any:
            encoded, labels = read(root, shard_id=shard, num_shards=shards)
            return fn.resize(fn.decoders.image(encoded), size=(16, 16)), labels, fn.random.uniform()

        return define

    cache = str(tmp_path / "cache")
    ranks = [make(sharded(shard, 2), root, cache=cache, num_threads=1 + shard) for shard in (0, 1)]
    plain = [make(sharded(shard, 2), root) for shard in (0, 1)]
    for _ in range(4):
        for rank, other in zip(ranks, plain, strict=True):
            assert_same(taken(rank, 1), taken(other, 1))
    for rank in ranks:
        rank.close()
    alone = make(sharded(0, 1), root, cache=cache)
    assert_same(taken(alone), taken(make(sharded(0, 1), root)))
    assert kept(alone) == COUNT
    assert len(list(Path(cache).glob("*/*.data"))) == 2, "the third found everything"
    alone.close()


@pytest.mark.parametrize("define", [trained, augmented])
def test_resumed(define: Callable[[Path], Any], root: Path, cache: str) -> None:
    expected = taken(make(define, root))
    first = make(define, root, cache=cache, enable_checkpointing=True)
    assert_same(taken(first, 4), expected[:4])
    saved = first.checkpoint()
    first.close()
    second = make(define, root, cache=cache, enable_checkpointing=True, checkpoint=saved)
    assert_same(taken(second, BATCHES - 4), expected[4:])
    second.close()


@pytest.mark.parametrize(("define", "bad"), [(validated, [3]), (trained, [0, 1, 7]), (trained, list(range(12)))])
@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
def test_bad_samples(define: Callable[[Path], Any], on_error: str, bad: list[int], root: Path, cache: str) -> None:
    for index, path in enumerate(sorted(root.rglob("*.jpg"))):
        if index in bad:
            damage(path, 300 + 60 * index)
    settings = {"on_error": on_error, "max_error_rate": 1.0}
    plain = make(define, root, **settings)
    expected = taken(plain)
    pipeline = make(define, root, cache=cache, **settings)
    assert_same(taken(pipeline), expected)
    told = [(record.node, record.operator, record.file, record.sample, record.message) for record in plain.bad_samples]
    assert told == [
        (record.node, record.operator, record.file, record.sample, record.message) for record in pipeline.bad_samples
    ]
    pipeline.close()


def test_windows_of_damaged_pictures(root: Path) -> None:
    """Of a picture that cannot be decoded whole, some windows can: they come, and the others fail, as without."""
    for index, path in enumerate(sorted(root.rglob("*.jpg"))):
        damage(path, path.stat().st_size * (30 + 5 * index) // 100)

    def windows(root: Path) -> Any:
        encoded, _ = read(root)
        return fn.decoders.image_random_crop(encoded, random_area=(0.05, 0.3))

    expected = taken(make(windows, root, batch_size=1, num_threads=1), 40)
    assert any(isinstance(batch, str) for batch in expected)
    assert any(not isinstance(batch, str) for batch in expected)
    pipeline = make(windows, root, batch_size=1, num_threads=1, cache="memory")
    assert_same(taken(pipeline, 40), expected)
    pipeline.close()


@pytest.mark.parametrize("at", [None, "second"])
@pytest.mark.parametrize("bad", [0, 3])
def test_views_share_whole_pictures(at: str | None, bad: int, root: Path, cache: str) -> None:
    """Decoders of random windows of the same pictures keep these once; of damaged ones there is the same as without."""
    for path in sorted(root.rglob("*.jpg"))[:bad]:
        damage(path)
    settings = {"on_error": "replace", "max_error_rate": 1.0} if bad else {}
    expected = taken(make(viewed, root, **settings))
    pipeline = make(viewed, root, cache=cache, cache_at=at, **settings)
    assert_same(taken(pipeline), expected)
    assert bad or kept(pipeline) == COUNT
    assert pipeline._runner is not None
    whole = [step for step in pipeline._runner.plan.steps() if step.node.op == "_whole_picture"]
    assert len(whole) == (2 if at is None else 1), "one of colours, and one of gray levels where nothing is chosen"
    pipeline.close()


def test_files_that_change_while_they_are_read(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that may be that of a later version is not kept as one of the former."""
    files = sorted(root.rglob("*.jpg"))
    former = [path.read_bytes() for path in files]
    find = CachedSteps.find
    changes = iter([True])

    def changing(self: CachedSteps, identities: Any) -> Any:
        found = find(self, identities)
        if next(changes, False):
            for index, path in enumerate(files):
                write_picture(path, 100 + index, LONG_AGO + 1)
        return found

    monkeypatch.setattr(CachedSteps, "find", changing)
    settings = {"cache": str(tmp_path / "cache"), "cache_at": "resized", "num_threads": 1, "prefetch_queue_depth": 1}

    def resized(root: Path) -> Any:
        encoded, labels = read(root)
        return fn.resize(fn.decoders.image(encoded), size=(16, 16), name="resized"), labels

    pipeline = make(resized, root, **settings)
    taken(pipeline)
    assert 0 < kept(pipeline) <= COUNT
    pipeline.close()
    later = make(resized, root, **settings)
    assert_same(taken(later), taken(make(resized, root)))
    later.close()
    for path, content in zip(files, former, strict=True):
        path.write_bytes(content)
        os.utime(path, (LONG_AGO, LONG_AGO))
    earlier = make(resized, root, **settings)
    assert_same(taken(earlier), taken(make(resized, root)))
    earlier.close()


@pytest.mark.parametrize(
    ("same", "checksum"), [("size and time", False), ("size and time", True), ("size", False), ("time", False)]
)
def test_changed_files(same: str, checksum: bool, root: Path, cache: str) -> None:
    """A file that shows a change is read again; one whose size and time are the same is by its checksum alone."""
    before = taken(make(validated, root))
    settings = {"cache": cache, "cache_checksum": checksum}
    pipeline = make(validated, root, **settings)
    assert_same(taken(pipeline), before)
    kept(pipeline)
    pipeline.close()
    for index, path in enumerate(sorted(root.rglob("*.jpg"))):
        size = path.stat().st_size
        write_picture(path, 100 + index)
        content = path.read_bytes()
        content = (
            content[:size].ljust(size, b"\0") if "size" in same else content + b"\0" * (abs(size - len(content)) + 1)
        )
        path.write_bytes(content)
        changed = LONG_AGO if "time" in same else LONG_AGO + 1
        os.utime(path, (changed, changed))
    pipeline = make(validated, root, **settings)
    unseen = same == "size and time" and not checksum and cache != "memory"
    expected = before if unseen else taken(make(validated, root))
    assert_same(taken(pipeline), expected)
    pipeline.close()


@pytest.mark.parametrize("checksum", [False, True])
def test_files_that_changed_a_moment_ago_are_kept_by_their_checksum_alone(checksum: bool, root: Path) -> None:
    soon = time.time() + 3600
    for path in root.rglob("*.jpg"):
        os.utime(path, (soon, soon))
    pipeline = make(validated, root, cache="memory", cache_checksum=checksum)
    taken(pipeline, 2)
    assert (kept(pipeline) > 0) == checksum
    pipeline.close()


def test_outputs_that_a_program_writes_to(root: Path, cache: str) -> None:
    """The batch that a program gets may be written to; what is kept is not that."""
    expected = taken(make(by_name, root))
    pipeline = make(by_name, root, cache=cache)
    for batch in expected:
        outputs = pipeline.run()
        assert_same([[[np.array(sample) for sample in output] for output in outputs]], [batch])
        for output in outputs[:2]:
            for sample in output:
                np.asarray(sample)[...] = 7
    pipeline.close()


def test_nothing_to_keep(root: Path) -> None:
    def rotated(root: Path) -> Any:
        encoded, _ = read(root)
        images = fn.decoders.image(encoded)
        return fn.cache(fn.rotate(images, angle=fn.random.uniform(range=(0.0, 9.0)), name="turned"))

    with pytest.raises(GraphError, match=r"(?s)'turned'.*cannot be kept.*uniform.*draws random numbers"):
        make(rotated, root, cache="memory").build()
    assert taken(make(rotated, root), 1), "without a cache the node passes on what comes"
    with pytest.raises(GraphError, match="there is no node 'turnd', did you mean 'turned'"):
        make(rotated, root, cache="memory", cache_at="turnd").build()
    with pytest.warns(RuntimeWarning, match=r"nothing is kept.*external_source"):
        make(lambda _: fn.resize(fn.external_source(source=lambda: [np.zeros((4, 4, 3), np.uint8)]), size=3), root,
             batch_size=1, cache="memory").run()  # fmt: skip
