"""Features of TFRecord files, compared with NVIDIA DALI: values, order, names, formats, and what is damaged."""

from __future__ import annotations

import copy
import pickle
import struct
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
import dali_lab.cli
from dali_lab import Pipeline, fn, ops, tfrecord
from dali_lab.errors import ArgumentError, DaliLabError, SampleError
from dali_lab.formats import dumps, loads
from dali_lab.model.features import parse
from tests.unit.readers.records import example, feature, field, write

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.ops  # noqa: E402
import nvidia.dali.tfrecord  # noqa: E402, F401

from tests.programs import run_python  # noqa: E402

Features = Callable[[Any], Mapping[str, Any]]


def record(number: int) -> bytes:
    boxes = [0.25 * number] * (6 * (number % 3 + 1))
    return example(
        {
            "image": [f"picture {number}".encode() * (number % 4)],
            "label": [number, -number, 1 << 40],
            "boxes": boxes,
            "none": [],
            "two": [b"x", b"yy"],
        },
        packed=number % 2 == 0,
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """Two files of 7 and 10 records."""
    folder = tmp_path_factory.mktemp("records")
    made = [write(folder / f"{n}.rec", [record(10 * n + i) for i in range(count)]) for n, count in enumerate((7, 10))]
    return [path for path, _ in made], [index for _, index in made]


def usual(module: Any) -> dict[str, Any]:
    return {
        "image": module.FixedLenFeature((), module.string, ""),
        "label": module.FixedLenFeature([3], module.int64, -1),
        "boxes": module.VarLenFeature(module.float32, 0.0),
    }


def run(pipeline: Any, batches: int) -> list[Any]:
    rows: list[Any] = []
    for _ in range(batches):
        for batch in pipeline.run():
            arrays = [np.array(batch.at(i)) for i in range(len(batch))]
            names = [batch[i].source_info() for i in range(len(batch))]
            rows.append([(a.tobytes(), a.shape, a.dtype.str, name) for a, name in zip(arrays, names, strict=True)])
    return rows


def read(
    engine: Any, files: tuple[Any, Any], features: Features = usual, batches: int = 3, **arguments: Any
) -> list[Any]:
    with engine.Pipeline(4, 2, None, seed=5) as pipeline:
        outputs = engine.fn.readers.tfrecord(
            path=files[0], index_path=files[1], features=features(engine.tfrecord), name="Reader", **arguments
        )
        assert list(outputs) == list(features(engine.tfrecord))
        pipeline.set_outputs(*outputs.values())
    pipeline.build()
    return [pipeline.reader_meta("Reader"), *run(pipeline, batches)]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"random_shuffle": True},
        {"random_shuffle": True, "initial_fill": 3},
        {"num_shards": 3, "shard_id": 1},
        {"num_shards": 3, "shard_id": 2, "stick_to_shard": True, "random_shuffle": True, "initial_fill": 4},
        {"num_shards": 2, "pad_last_batch": True},
        {"dont_use_mmap": True},
        {"dont_use_mmap": True, "use_o_direct": True},
        {"lazy_init": True, "read_ahead": True},
        {"shuffle_after_epoch": True, "shuffle_after_epoch_seed": 1, "num_shards": 2, "pad_last_batch": True},
    ],
    ids=str,
)
def test_three_epochs_in_the_order_of_dali(files: tuple[list[str], list[str]], arguments: dict[str, Any]) -> None:
    ours = read(dali_lab, files, batches=13, **arguments)
    assert ours == read(dali, files, batches=13, **arguments)


@pytest.mark.parametrize(
    "features",
    [
        lambda t: {"image": t.FixedLenFeature([1], t.string, "")},
        lambda t: {"two": t.FixedLenFeature([], t.string, "")},
        lambda t: {"boxes": t.VarLenFeature([2, 3], t.float32, 0.0), "label": t.VarLenFeature([1], t.int64, 0)},
        lambda t: {"boxes": t.VarLenFeature([], t.float32, 0.0)},
        lambda t: {"none": t.VarLenFeature(t.int64, 3)},
        lambda t: {"label": t.VarLenFeature(t.float32, 1.0), "boxes": t.VarLenFeature(t.int64, 1)},
        lambda t: {"label": t.FixedLenFeature([3, 1], t.int64, 0)},
    ],
)
def test_features(files: tuple[list[str], list[str]], features: Features) -> None:
    assert read(dali_lab, files, features) == read(dali, files, features)


def test_default_values_stand_for_what_is_not_there(files: tuple[list[str], list[str]]) -> None:
    features = {
        "label": tfrecord.FixedLenFeature([5], tfrecord.int64, 7),
        "a": tfrecord.FixedLenFeature([2], tfrecord.float32, 0.5),
        "b": tfrecord.VarLenFeature([4], tfrecord.float32, 0.5),
        "c": tfrecord.FixedLenFeature([], tfrecord.string, "no name"),
    }
    with Pipeline(2, 1, None) as pipeline:
        pipeline.set_outputs(*fn.readers.tfrecord(path=files[0], index_path=files[1], features=features).values())
    pipeline.build()
    with pytest.warns(UserWarning, match="no feature 'a'"):
        label, a, b, c = pipeline.run()
    assert np.array(label.at(1)).tolist() == [1, -1, 1 << 40, 7, 7]
    assert np.array(a.at(0)).tolist() == [0.5, 0.5]
    assert np.array(b.at(0)).shape == (0, 4)
    assert bytes(np.array(c.at(0))) == b"no name"


def test_pieces_in_an_unusual_order(tmp_path: Path) -> None:
    """Fields that are not known, values before names, and a name twice: the last counts."""
    entry = field(2, feature([5], True)) + field(1, b"n") + b"\x48\x01" + field(9, b"?")
    again = field(1, b"n") + field(2, feature([1, 2], False) + feature([3], True))
    content = field(7, b"x") + b"\x19" + bytes(8) + field(1, field(1, entry)) + field(1, field(1, again))
    files = write(tmp_path / "odd.rec", [content, example({"n": [4]})])

    def features(module: Any) -> dict[str, Any]:
        return {"n": module.VarLenFeature(module.int64, 0)}

    ours, theirs = (read(engine, files, features, 1) for engine in (dali_lab, dali))
    assert [row[0][-8:] for row in ours[1]] == [row[0][-8:] for row in theirs[1]]


def test_slower_way_has_the_same_result(files: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    from dali_lab.kernels.cpu import background

    compiled = read(dali_lab, files)
    monkeypatch.setattr(background, "ready", lambda *arguments: False)
    assert read(dali_lab, files) == compiled


def test_objects_and_names_of_older_releases(files: tuple[list[str], list[str]]) -> None:
    expected = read(dali, files)[1:]
    for kind in (ops.readers.TFRecord, ops.TFRecordReader):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Pipeline(4, 1, None) as pipeline:
                reader = kind(files[0], files[1], usual(tfrecord))
                pipeline.set_outputs(*reader(name="Reader").values())
        pipeline.build()
        assert run(pipeline, 3) == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Pipeline(4, 1, None) as pipeline:
            outputs = fn.tfrecord_reader(path=files[0], index_path=files[1], features=usual(tfrecord))
            pipeline.set_outputs(*outputs.values())
    pipeline.build()
    assert run(pipeline, 3) == expected


def test_index_files_are_those_of_dali(files: tuple[list[str], list[str]], tmp_path: Path) -> None:
    path, _ = files[0][0], files[1][0]
    script = Path(sys.executable).parent / "tfrecord2idx"
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    run_python(script, path, theirs)
    assert dali_lab.cli.main(["index", path, "-o", str(ours), "--kind", "tfrecord"]) == 0
    assert ours.read_text() == theirs.read_text() == Path(files[1][0]).read_text()


def test_records_are_told_by_their_checksum(tmp_path: Path) -> None:
    """CRC-32C of the length, masked as TensorFlow does; the length 5 has the one below."""
    path = tmp_path / "train-00000-of-00001"
    start = struct.pack("<QI", 0, 0x07980329) + struct.pack("<I", 0xA282EAD8)
    path.write_bytes(start)
    assert dali_lab.cli.main(["index", str(path)]) == 0
    assert (tmp_path / "train-00000-of-00001.idx").read_text() == "0 16\n"
    path.write_bytes(start[:-1])
    assert dali_lab.cli.main(["index", str(path)]) == 2


@pytest.mark.parametrize(("first", "second"), [(dali_lab, dali), (dali, dali_lab)], ids=["here", "there"])
def test_one_goes_on_where_the_other_was(files: tuple[list[str], list[str]], first: Any, second: Any) -> None:
    def make(package: Any, saved: bytes | None = None) -> Any:
        settings = {"seed": 9, "enable_checkpointing": True, "checkpoint": saved}
        with package.Pipeline(4, 2, None, **settings) as pipeline:
            outputs = package.fn.readers.tfrecord(
                path=files[0], index_path=files[1], features=usual(package.tfrecord), random_shuffle=True,
                initial_fill=5, num_shards=2,
            )  # fmt: skip
            pipeline.set_outputs(*outputs.values())
        pipeline.build()
        return pipeline

    for consumed in (0, 3, 7):
        whole = make(first)
        run(whole, consumed)
        resumed = make(second, whole.checkpoint())
        assert run(resumed, 6) == run(whole, 6)


@pytest.mark.parametrize("old", [False, True])
def test_serialized_pipelines_go_both_ways(files: tuple[list[str], list[str]], old: bool) -> None:
    for package, other in ((dali_lab, dali), (dali, dali_lab)):
        with package.Pipeline(4, 1, None, seed=3) as pipeline, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind = package.ops.TFRecordReader if old else package.ops.readers.TFRecord
            reader = kind(files[0], files[1], usual(package.tfrecord), random_shuffle=True, initial_fill=4)
            pipeline.set_outputs(*reader().values())
        again = other.Pipeline.deserialize(pipeline.serialize())
        pipeline.build()
        again.build()
        assert run(pipeline, 4) == run(again, 4)


def all_kinds() -> dict[str, tfrecord.Feature]:
    return {
        "image/encoded": tfrecord.FixedLenFeature([], tfrecord.string, 'a "b" \\ ü'),
        "label": tfrecord.FixedLenFeature([2, 3], tfrecord.int64, -(1 << 50)),
        "rows": tfrecord.VarLenFeature([2, 3], tfrecord.float32, 0.1),
        "x": tfrecord.VarLenFeature(tfrecord.int64, 0),
        "y": tfrecord.FixedLenFeature([0], tfrecord.float32, float("-inf")),
    }


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("form", ["json", "python", "nvidia-python", "dali-serialized"])
def test_all_formats_keep_the_features(count: int, form: str) -> None:
    features = dict(list(all_kinds().items())[:count])
    with Pipeline(2, 1, None) as pipeline:
        inputs = fn.readers.tfrecord(path="train", index_path="train.idx", features=features)
        pipeline.set_outputs(fn.cast(inputs["image/encoded"], dtype=dali_lab.types.INT32), *list(inputs.values())[1:])
    back = loads(dumps(pipeline.graph, form))
    assert back == pipeline.graph
    node = next(node for node in back.nodes.values() if node.op == "readers.tfrecord")
    found = zip(node.arguments["feature_names"], node.arguments["features"], strict=True)
    assert {name: (f.shape, f.type, f.default, f.fixed) for name, f in found} == {
        name: (f.shape, f.type, f.default, f.fixed) for name, f in features.items()
    }


def test_exported_code_is_as_people_write_it() -> None:
    with Pipeline(2, 1, None) as pipeline:
        features = {"image/encoded": tfrecord.FixedLenFeature([], tfrecord.string, "")}
        inputs = fn.readers.tfrecord(path="train", index_path="train.idx", features=features)
        images = fn.decoders.image(inputs["image/encoded"])
        pipeline.set_outputs(images)
    code = dumps(pipeline.graph, "nvidia-python").decode()
    assert "from nvidia.dali import fn, pipeline_def, tfrecord" in code
    assert 'features={"image/encoded": tfrecord.FixedLenFeature([], tfrecord.string, "")}' in code
    assert 'images = fn.decoders.image(inputs["image/encoded"])' in code


def test_features_are_values() -> None:
    for each in all_kinds().values():
        for same in (copy.deepcopy(each), pickle.loads(pickle.dumps(each)), parse(each)):
            assert (same, same.shape, same.default) == (each, each.shape, each.default)
    assert tfrecord.FixedLenFeature([2], tfrecord.int64, 1) == "FixedLenFeature([2], int64, 1)"
    for text in (
        "",
        "1",
        "print(1)",
        "FixedLenFeature([], string)",
        "FixedLenFeature([], x, 1)",
        "VarLenFeature(" * 99,
    ):
        with pytest.raises(ValueError, match="is not a feature"):
            parse(text)


@pytest.mark.parametrize("module", [tfrecord, dali.tfrecord], ids=["ours", "theirs"])
def test_what_features_are_made_of(module: Any) -> None:
    """Both refuse the same, with an error of their own."""
    for arguments in (
        ((), module.string, 3), ((), module.int64, "x"), ((), module.int64, 0.5), ((), module.float32, 2),
        ((), module.float32, None), ((), 5, 0), ([1.5], module.int64, 0), (3, module.int64, 0), ((), module.int64),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            module.FixedLenFeature(*arguments)
    module.FixedLenFeature(np.array([2]), module.int64, True)
    module.VarLenFeature([2], module.int64, 0)


def refused(words: Sequence[str], files: tuple[Any, Any], features: Features = usual, **arguments: Any) -> None:
    with pytest.raises(DaliLabError) as caught:
        read(dali_lab, files, features, **arguments)
    for word in ("readers.tfrecord", *words):
        assert word in str(caught.value)


def test_wrong_arguments(files: tuple[list[str], list[str]], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("")
    refused(("path", "nowhere", "it does not exist"), ("nowhere", files[1][0]))
    refused(("index_path", "nowhere", "it does not exist"), (files[0][0], "nowhere"))
    refused(("index_path", "no records", "empty"), (files[0][0], str(empty)))
    refused(("index_path", "1 index files for 2"), (files[0], files[1][0]))
    refused(("path", "empty list"), ([], []))
    refused(("path", "it is a folder"), (str(tmp_path), files[1][0]))
    refused(("features", "names no features"), files, lambda t: {})
    refused(("features", "VarLenFeature", "3"), files, lambda t: {"label": 3})
    refused(("features", "'s'", "one string"), files, lambda t: {"s": t.VarLenFeature(t.string, "")})
    refused(("features", "'s'", "one string"), files, lambda t: {"s": t.FixedLenFeature([2], t.string, "")})
    refused(("features", "'s'", "[-1]"), files, lambda t: {"s": t.FixedLenFeature([-1], t.int64, 0)})
    refused(("features", "'s'", "[0]"), files, lambda t: {"s": t.VarLenFeature([0], t.int64, 0)})
    refused(("use_o_direct", "dont_use_mmap"), files, use_o_direct=True)
    with Pipeline(1, 1, None), pytest.raises(ArgumentError, match="is not a feature"):
        fn.readers.tfrecord(path="a", index_path="b", features={"s": "float"})


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (lambda t: {"label": t.FixedLenFeature([2], t.int64, 0)}, ("'label'", "3 elements", "2")),
        (lambda t: {"boxes": t.VarLenFeature([4], t.float32, 0.0)}, ("'boxes'", "6 elements", "rows of 4")),
        (lambda t: {"none": t.FixedLenFeature([], t.string, "")}, ("'none'", "no string")),
    ],
)
def test_features_that_do_not_fit(files: tuple[list[str], list[str]], features: Features, words: Sequence[str]) -> None:
    refused((*words, "sample 0", f"{files[0][0]} at index 0"), files, features)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("5 {0}", ("at index 5", "it says that its content has")),
        ("0 10", ("at index 0", "10 bytes by its index", "16")),
        ("0 100000000", ("at index 0", "are not in", "one.rec")),
        ("-1 20", ("at index -1", "are not in")),
        ("0 20", ("at index 0", "more than its index gives")),
        ("9223372036854775757 100", ("at index 9223372036854775757", "are not in")),
        ("4611686018427387904 4611686018427387904", ("at index 4611686018427387904", "are not in")),
        ("0 9223372036854775807", ("at index 0", "are not in")),
        ("0 -1", ("at index 0", "are not in")),
    ],
)
def test_index_of_another_file(tmp_path: Path, index: str, words: Sequence[str]) -> None:
    path, good = write(tmp_path / "one.rec", [record(1), record(2)])
    size = Path(good).read_text().split()[1]
    (tmp_path / "bad.idx").write_text(index.format(size))
    refused(words, (path, str(tmp_path / "bad.idx")))


def test_an_index_whose_records_overlap_asks_for_no_more_memory_than_there_is_file(tmp_path: Path) -> None:
    """Each of them is inside the file, which they are many times over together."""
    path, good = write(tmp_path / "one.rec", [record(1)] * 20)
    size = Path(path).stat().st_size
    (tmp_path / "bad.idx").write_text("".join(f"{index} {size - index}\n" for index in range(20)))
    with Pipeline(16, 1, None) as pipeline:
        features = usual(tfrecord)
        pipeline.set_outputs(
            *fn.readers.tfrecord(path=path, index_path=str(tmp_path / "bad.idx"), features=features).values()
        )
    with pytest.raises(SampleError, match=r"one\.rec' overlap those of another sample"):
        pipeline.run()
    (tmp_path / "often.idx").write_text(Path(good).read_text().splitlines()[0] + "\n")
    with Pipeline(32, 1, None) as often:  # the same record again and again is no overlap
        often.set_outputs(
            *fn.readers.tfrecord(path=path, index_path=str(tmp_path / "often.idx"), features=features).values()
        )
    assert len(often.run()[0]) == 32


def test_a_record_that_an_index_repeats_is_read_once(tmp_path: Path) -> None:
    """However often one is asked for, there is no more memory than the files have bytes; the others stay in place."""
    from dali_lab.operators.readers.large_files import LargeFiles

    (tmp_path / "a").write_bytes(bytes(range(100)))
    (tmp_path / "b").write_bytes(bytes(range(100, 200)))
    files = LargeFiles([str(tmp_path / "a"), str(tmp_path / "b")], "path")
    rows = np.array([0, 1, 0, 0, 1, 0])
    offsets, counts = np.array([0, 7, 0, 60, 7, 0]), np.array([60, 93, 60, 40, 93, 60])
    batch = files.read(None, rows, offsets, counts, ["a"] * 6)  # type: ignore[arg-type]
    content = [bytes(range(100)), bytes(range(100, 200))]
    for index, (file, offset, count) in enumerate(zip(rows, offsets, counts, strict=True)):
        assert batch.array(index).tobytes() == content[file][offset : offset + count]
    assert len(set(batch.addresses.tolist())) == 3


def test_an_index_counts_up_to_what_is_no_number(tmp_path: Path) -> None:
    path, good = write(tmp_path / "one.rec", [record(1), record(2)])
    (tmp_path / "odd.idx").write_text(Path(good).read_text() + "7 x 3 4\n")
    files = path, str(tmp_path / "odd.idx")
    assert read(dali_lab, files) == read(dali, files)


def test_a_damaged_record_is_named_and_the_next_batch_comes(tmp_path: Path) -> None:
    good = record(1)
    damaged = [b"\xff" * 40, field(1, field(1, b"\x0a\xff\x01")), b"\x0a\x7f" + good]
    path, index = write(tmp_path / "one.rec", [good, *damaged, good, good])
    with Pipeline(1, 1, None, prefetch_queue_depth=1) as pipeline:
        pipeline.set_outputs(*fn.readers.tfrecord(path=path, index_path=index, features=usual(tfrecord)).values())
    pipeline.build()
    places = [int(line.split()[0]) for line in Path(index).read_text().splitlines()]
    for place in range(6):
        if 1 <= place <= 3:
            with pytest.raises(SampleError, match=f"(?s)not a message of the type Example.*at index {places[place]}"):
                pipeline.run()
        else:
            assert len(pipeline.run()) == 3
