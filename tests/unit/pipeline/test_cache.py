"""With a cache, batches are those without: to the bit, in order, in every epoch, whatever happens to the cache."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn, formats, pipeline_def, types
from dali_lab.cli.entry import main
from dali_lab.executor.caching import compression, folder_store, written_store
from dali_lab.executor.caching.folder import MARK, make_room, open_folder, parts, used_bytes
from dali_lab.formats.registry import FORMATS
from dali_lab.model.errors import ArgumentError, DaliLabError, GraphError
from tests.unit.readers import datasets

COUNT, SIZE, BATCHES = 14, 5, 9
"""Nine batches of five are more than three epochs of fourteen."""
LONG_AGO = 1_000_000_000
Rows = list[list[np.ndarray]]


def write_picture(path: Path, seed: int, changed: float = LONG_AGO) -> None:
    import cv2

    noise = np.random.default_rng(seed).integers(0, 255, (9, 12, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), cv2.resize(noise, (60 + seed % 7, 48)))
    os.utime(path, (changed, changed))


def damage(path: Path, kept: int = 400) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    os.utime(path, (LONG_AGO, LONG_AGO))


@pytest.fixture(autouse=True)
def any_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no slow disk: the cache is read however long it takes."""
    monkeypatch.setattr(written_store, "_PATIENCE", float("inf"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for index in range(COUNT):
        write_picture(tmp_path / "files" / "ab"[index % 2] / f"{index:02}.jpg", index)
    return tmp_path / "files"


def read(root: Path, **more: Any) -> Any:
    return fn.readers.file(file_root=str(root), **{"random_shuffle": True, "initial_fill": 6, **more})


def validated(root: Path) -> Any:
    encoded, labels = read(root)
    images = fn.resize(fn.decoders.image(encoded), resize_shorter=32)
    return fn.crop_mirror_normalize(images, crop=(24, 24), mean=[100.0], std=[50.0]), labels


def trained(root: Path) -> Any:
    encoded, labels = read(root)
    images = fn.resize(fn.decoders.image_random_crop(encoded), size=(20, 24))
    return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip()), labels * 2, fn.random.uniform()


def augmented(root: Path) -> Any:
    """Random operators and a condition behind the kept part, and the name of each file."""
    encoded, labels = read(root)
    images = fn.resize(fn.decoders.image(encoded), size=(32, 32))
    name = fn.get_property(images, key="source_info")
    images = fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True)
    if fn.random.coin_flip():
        images = fn.flip(images)
    else:
        images = fn.brightness(images, brightness=fn.random.uniform(range=(0.5, 1.5)))
    return images, labels, name


def of_two_readers(root: Path) -> Any:
    first, labels = read(root)
    second, _ = read(root, random_shuffle=False)
    images = [fn.resize(fn.decoders.image(each), size=(16, 16)) for each in (first, second)]
    return images[0] - images[1], labels, images[1], first


def by_name(root: Path) -> Any:
    """The cached edge is an output; the pictures have shapes of their own."""
    encoded, labels = read(root)
    images = fn.cache(fn.decoders.image(encoded))
    return images, fn.reshape(images, layout="HWC"), labels, fn.random.normal()


GRAPHS = (validated, trained, augmented, of_two_readers, by_name)


def make(define: Callable[[Path], Any], root: Path, **settings: Any) -> Pipeline:
    @pipeline_def(
        **{"batch_size": SIZE, "num_threads": 2, "seed": 12, **settings}, enable_conditionals=define is augmented
    )
    def pipeline() -> Any:
        return define(root)

    return pipeline()


def taken(pipeline: Pipeline, batches: int = BATCHES) -> list[Any]:
    """Outputs, or the messages of errors, batch by batch."""
    found: list[Any] = []
    for _ in range(batches):
        try:
            outputs = pipeline.run()
        except DaliLabError as error:
            found.append(str(error))
            continue
        found.append([[np.array(sample) for sample in output] for output in outputs])
    return found


def assert_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    assert len(found) == len(expected)
    for batch, (one, other) in enumerate(zip(found, expected, strict=True)):
        if isinstance(other, str):
            assert one == other
            continue
        assert not isinstance(one, str), one
        for output, (left, right) in enumerate(zip(one, other, strict=True)):
            for sample, (a, b) in enumerate(zip(left, right, strict=True)):
                assert a.dtype == b.dtype and np.array_equal(a, b), (batch, output, sample)


def kept(pipeline: Pipeline) -> int:
    """Samples that a pipeline's cache holds, once all is written."""
    assert pipeline._runner is not None
    assert pipeline._runner.kept is not None
    store = pipeline._runner.kept.store
    assert store is not None
    store.flush()
    return len(store.entries)


@pytest.fixture(params=["memory", "folder"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory" if request.param == "memory" else str(tmp_path / "cache")


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


@pytest.mark.parametrize("kind", sorted(set(datasets.ALL) - {"video"}))
def test_every_reader(kind: str, tmp_path: Path) -> None:
    """Samples of all readers are kept, and read anew once their files have changed."""
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
    for at, count in ((LONG_AGO, 8), (LONG_AGO, 8), (LONG_AGO + 9, 16)):
        touch(at)
        pipeline = make(read, folder, cache=str(tmp_path / "cache"))
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


@pytest.mark.parametrize("define", [validated, trained])
@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
@pytest.mark.parametrize("bad", [[3], [0, 1, 7], list(range(12))])
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


@pytest.mark.parametrize("same", ["size and time", "size", "time"])
def test_changed_files(same: str, root: Path, cache: str) -> None:
    """A file that shows a change is read again; one whose size and time are the same is not, as documented."""
    before = taken(make(validated, root))
    pipeline = make(validated, root, cache=cache)
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
    pipeline = make(validated, root, cache=cache)
    expected = before if same == "size and time" and cache != "memory" else taken(make(validated, root))
    assert_same(taken(pipeline), expected)
    pipeline.close()


def test_files_that_changed_a_moment_ago_are_not_kept(root: Path) -> None:
    for path in root.rglob("*.jpg"):
        os.utime(path)
    pipeline = make(validated, root, cache="memory")
    taken(pipeline, 2)
    assert kept(pipeline) == 0
    pipeline.close()


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


def fill(root: Path, cache: Path, define: Callable[[Path], Any] = validated) -> list[Any]:
    pipeline = make(define, root, cache=str(cache))
    found = taken(pipeline)
    kept(pipeline)
    pipeline.close()
    return found


def flip_bits(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(20, len(content), 997):
        content[place] ^= 0x10
    path.write_bytes(content)


def zeros(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage(path: Path) -> None:
    path.write_bytes(np.random.default_rng(3).bytes(5000))


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("ending", ["data", "index"])
@pytest.mark.parametrize("harm", [flip_bits, zeros, cut, garbage, emptied, Path.unlink])
def test_damage_heals(ending: str, harm: Callable[[Path], Any], root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = fill(root, cache)
    for path in cache.glob(f"*/*.{ending}"):
        harm(path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert_same(fill(root, cache), expected)
    assert len(told) <= 1, "told once"
    assert all("cache" in str(warning.message) for warning in told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = make(validated, root, cache=str(cache))
        if ending == "data" or harm is Path.unlink:
            assert_same(taken(pipeline), expected)
            assert kept(pipeline) == COUNT
        pipeline.close()


def test_removed_while_in_use(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = fill(root, cache)
    pipeline = make(validated, root, cache=str(cache))
    assert_same(taken(pipeline, 4), expected[:4])
    shutil.rmtree(cache)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(taken(pipeline, 5), expected[4:])
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


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.unit.pipeline import test_cache as cases
pipeline = cases.make(cases.trained, Path({root!r}), cache={cache!r})
"""


def program(root: Path, cache: Path, rest: str) -> list[str]:
    start = PROGRAM.format(tests=str(Path(__file__).parents[3]), root=str(root), cache=str(cache))
    return [sys.executable, "-c", start + textwrap.dedent(rest)]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_killed_while_filling(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = taken(make(trained, root))
    running = subprocess.Popen(program(root, cache, "while True: pipeline.run()"))
    deadline = time.monotonic() + 120
    while not list(cache.glob("*/*.data")) and time.monotonic() < deadline:
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()
    for _ in range(2):
        assert_same(fill(root, cache, trained), expected)


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_full_disk(root: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: writing fails in the middle."""
    cache = tmp_path / "cache"
    done = subprocess.run(
        program(
            root,
            cache,
            """
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
            files = Path(pipeline.cache).parent / "files"
            cases.assert_same(cases.taken(pipeline), cases.taken(cases.make(cases.trained, files)))
            pipeline.close()
            """,
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning: nothing more is kept in the cache") == 1, done.stderr
    assert_same(fill(root, cache, trained), taken(make(trained, root)))


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


def averaged(root: Path) -> Any:
    """Everything is the same in every epoch, and the last result is the smallest."""
    encoded, _ = read(root)
    images = fn.cast(fn.decoders.image(encoded), dtype=types.FLOAT)
    return fn.reductions.mean(fn.gaussian_blur(images, window_size=5), axes=(0, 1)) + fn.random.uniform()


def test_the_place_is_chosen_by_cost(root: Path, cache: str) -> None:
    """Means of pictures cost most and are smallest, so they are kept, and all that share a folder keep the same."""
    expected = taken(make(averaged, root))
    for _ in range(2):
        pipeline = make(averaged, root, cache=cache)
        assert_same(taken(pipeline), expected)
        assert kept(pipeline) == COUNT
        store = pipeline._runner.kept.store  # type: ignore[union-attr]
        assert store.entries.mean_bytes() == 12  # type: ignore[union-attr]
        pipeline.close()
    if cache != "memory":
        assert len(list(Path(cache).glob("*.choice.json"))) == 1
        (choice,) = Path(cache).glob("*.choice.json")
        choice.write_text("[99]")  # damaged: chosen anew
        assert_same(taken(make(averaged, root, cache=cache)), expected)
        assert main(["cache", "rm", cache]) == 0
        assert not Path(cache).exists()


@pytest.mark.parametrize("resize", [{"resize_shorter": 32}, {"size": (32, 30)}, {"resize_x": 33.0, "antialias": False}])
@pytest.mark.parametrize("crop", [{"crop": (20, 18)}, {"crop_h": 7, "crop_w": 5, "crop_pos_x": 0.1, "crop_pos_y": 1.0}])
@pytest.mark.parametrize("color", ["RGB", "GRAY"])
def test_crops_of_resized_pictures(resize: Any, crop: Any, color: str, root: Path) -> None:
    """Only the windows are kept that a crop behind the resize cuts."""

    def define(root: Path) -> Any:
        encoded, _ = read(root)
        images = fn.resize(fn.decoders.image(encoded, output_type=getattr(types, color)), **resize)
        more = {"mirror": fn.random.coin_flip(), "mean": [100.0], "std": [50.0], "output_layout": "HWC"}
        return fn.crop_mirror_normalize(images, **crop, **more)

    expected = taken(make(define, root), 6)
    pipeline = make(define, root, cache="memory")
    assert_same(taken(pipeline, 6), expected)
    assert kept(pipeline) == COUNT
    height, width = np.asarray(expected[0][0][0]).shape[:2]
    store = pipeline._runner.kept.store  # type: ignore[union-attr]
    assert store.entries.mean_bytes() == height * width * (3 if color == "RGB" else 1)  # type: ignore[union-attr]
    pipeline.close()


def test_a_crop_beyond_the_picture(root: Path) -> None:
    """The error is that without a cache."""

    def define(root: Path) -> Any:
        images = fn.resize(fn.decoders.image(read(root)[0]), size=(20, 20))
        return fn.crop_mirror_normalize(images, crop=(30, 10), mirror=fn.random.coin_flip(), name="cut")

    expected = taken(make(define, root, batch_size=1), 2)
    assert all("cut" in message for message in expected)
    assert_same(taken(make(define, root, batch_size=1, cache="memory"), 2), expected)


def masked(root: Path) -> Any:
    """Pictures of few levels, which get much smaller when they are compressed."""
    encoded, labels = read(root)
    images = fn.resize(fn.decoders.image(encoded), size=(64, 64))
    return fn.cache(fn.cast(images / 64, dtype=types.UINT8) * 0), labels * 2, fn.random.uniform()


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
        patch.setattr(compression, "available", lambda: False)
        patch.setattr(written_store, "available", lambda: False)
        with pytest.warns(RuntimeWarning, match="take the package imagecodecs"):
            assert_same(fill(root, cache, masked), expected)
    shutil.rmtree(cache)
    fill(root, cache, masked)
    for path in cache.glob("*/*.data"):
        flip_bits(path)
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert_same(fill(root, cache, masked), expected)
