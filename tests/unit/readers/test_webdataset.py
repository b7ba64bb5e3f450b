"""Samples from tar archives, compared with NVIDIA DALI: files, order, names, types, index files and damaged ones."""

from __future__ import annotations

import io
import os
import sys
import tarfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
import dali_lab.cli
from dali_lab import Pipeline, fn
from dali_lab.errors import DaliLabError, SampleError
from dali_lab.types import INT64, UINT8
from tests.unit.readers.records import write_tar

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

from tests.programs import run_python  # noqa: E402

PLAIN = [("a.jpg", b"aj"), ("a.cls", b"12345678"), ("b.cls", b"bc"), ("b.jpg", b"bj"), ("c.png", b"cp")]


@pytest.fixture
def archives(tmp_path: Path) -> list[str]:
    """Two archives of 7 and 10 samples, whose files are of 1 to 9 bytes."""
    paths = []
    for number, count in enumerate((7, 10)):
        entries: list[tuple[str, bytes | None]] = [("data", None)]
        for index in range(count):
            name = f"data/{number}_{index:02d}"
            entries.append((f"{name}.jpg", name.encode() * (index % 3)))
            entries += [(f"{name}.cls", bytes([index] * 8))] if index % 4 else []
        paths.append(write_tar(tmp_path / f"{number}.tar", entries))
    return paths


def read(engine: Any, batch_size: int, batches: int, **arguments: Any) -> list[Any]:
    """Elements, types and names of some batches, and the size of the reader."""
    if "dtypes" in arguments:
        arguments["dtypes"] = [getattr(engine.types, name) for name in arguments["dtypes"]]
    pipeline = engine.Pipeline(batch_size, 2, None, seed=5)
    with pipeline, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = engine.fn.readers.webdataset(name="Reader", **arguments)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        pipeline.set_outputs(*outputs)
    pipeline.build()
    rows: list[Any] = [pipeline.reader_meta("Reader")]
    for _ in range(batches):
        for batch in pipeline.run():
            arrays = [np.array(batch.at(i)) for i in range(len(batch))]
            names = [batch[i].source_info() for i in range(len(batch))]
            rows.append([(a.tobytes(), a.shape, a.dtype.str, name) for a, name in zip(arrays, names, strict=True)])
    return rows


def agree(batch_size: int = 4, batches: int = 3, **arguments: Any) -> None:
    assert read(dali_lab, batch_size, batches, **arguments) == read(dali, batch_size, batches, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"missing_component_behavior": "skip"},
        {"random_shuffle": True},
        {"random_shuffle": True, "initial_fill": 3, "missing_component_behavior": "Empty"},
        {"num_shards": 3, "shard_id": 1},
        {"num_shards": 3, "shard_id": 2, "stick_to_shard": True, "random_shuffle": True, "initial_fill": 4},
        {"num_shards": 2, "pad_last_batch": True},
        {"num_shards": 4, "shard_id": 3, "pad_last_batch": True, "random_shuffle": True, "seed": 9},
        {"dont_use_mmap": True},
        {"lazy_init": True, "read_ahead": True},
        {"shuffle_after_epoch": True, "num_shards": 3, "shard_id": 1},
        {"shuffle_after_epoch": True, "shuffle_after_epoch_seed": 4, "random_shuffle": True, "initial_fill": 3},
    ],
    ids=str,
)
def test_three_epochs_in_the_order_of_dali(archives: list[str], arguments: dict[str, Any]) -> None:
    agree(4, 13, paths=[*archives, *archives], ext=["jpg", "cls"], **arguments)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_forms_of_archives(tmp_path: Path, form: int) -> None:
    long = "x" * 90 + "/" + "y" * (90 if form == tarfile.USTAR_FORMAT else 5)
    path = write_tar(tmp_path / "t.tar", [("d", None), (f"{long}.jpg", b"1"), ("./b.jpg", b"2"), *PLAIN], form)
    agree(paths=path, ext="jpg")


def test_long_names(tmp_path: Path) -> None:
    """NVIDIA DALI reads those of GNU; those of extended headers (pax) are read here alone."""
    entries = [("x" * 90 + "/" + "y" * 120 + ".jpg", b"1"), ("ü.jpg", b"3")]
    gnu = write_tar(tmp_path / "gnu.tar", entries)
    agree(paths=gnu, ext="jpg")
    pax = write_tar(tmp_path / "pax.tar", entries, tarfile.PAX_FORMAT)
    found = read(dali_lab, 2, 1, paths=pax, ext="jpg")[1]
    assert [(row[0], row[3].rpartition(":")[2]) for row in found] == [(b"1", entries[0][0]), (b"3", "ü.jpg")]


def test_links_folders_and_large_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for name, kind in (("a.jpg", tarfile.SYMTYPE), ("b.jpg", tarfile.LNKTYPE), ("c.jpg", tarfile.FIFOTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "d.jpg"
            archive.addfile(entry)
        entry = tarfile.TarInfo("d.jpg")
        entry.size, entry.uid = 2, 1 << 40  # a number that is written in base 256
        archive.addfile(entry, io.BytesIO(b"dd"))
    agree(paths=str(path), ext="jpg")


@pytest.mark.parametrize(
    ("entries", "arguments"),
    [
        (PLAIN, {"ext": ["jpg;png", "cls"]}),
        (PLAIN, {"ext": ["jpg", "jpg"]}),
        (PLAIN, {"ext": ["jpg;cls", "cls;png"]}),
        ([("a.jpg", b"1"), ("a.jpg", b"2"), ("a.png", b"3")], {"ext": ["jpg;png"]}),
        ([("x.tar.jpg", b"q"), ("nodot", b"n"), ("trail.", b"t")], {"ext": ["jpg", "tar.jpg", "nodot", ""]}),
        ([("a.JPG", b"1"), ("b.jpg", b"2")], {"ext": ["jpg"]}),
        ([("a.JPG", b"1"), ("b.jpg", b"2")], {"ext": ["jPg"], "case_sensitive_extensions": False}),
        ([("a.x", b"12345678"), ("b.x", b"1234")], {"ext": ["x", "x"], "dtypes": ["INT32", "FLOAT16"]}),
        ([("a.x", b"12345678"), ("b.y", b"1234")], {"ext": ["x", "y"], "dtypes": ["FLOAT64", "UINT16"]}),
    ],
    ids=str,
)
def test_extensions_and_types(tmp_path: Path, entries: Any, arguments: dict[str, Any]) -> None:
    agree(paths=write_tar(tmp_path / "t.tar", entries), **arguments)


def test_hidden_files_are_left_out(tmp_path: Path) -> None:
    hidden = [(".x.jpg", b"h"), *PLAIN, ("d/.x.jpg", b"h")]
    path = write_tar(tmp_path / "h.tar", hidden)
    found = read(dali_lab, 3, 1, paths=path, ext="jpg")
    assert [row[0] for row in found[1]] == [b"aj", b"bj", b""]
    assert found[0]["epoch_size"] == 3


def test_a_sample_with_one_file_for_two_outputs_is_complete(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "t.tar", PLAIN)
    found = read(dali_lab, 2, 1, paths=path, ext=["jpg", "jpg"], missing_component_behavior="skip")
    assert [row[0] for row in found[1]] == [row[0] for row in found[2]] == [b"aj", b"bj"]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
def test_index_files_are_those_of_dali(archives: list[str], tmp_path: Path, form: int) -> None:
    script = Path(sys.executable).parent / "wds2idx"
    path = write_tar(tmp_path / "w.tar", [("d", None), ("d/.h.jpg", b"x"), *PLAIN, ("x/y.a.b", b"")], form)
    for number, archive in enumerate([*archives, path]):
        theirs, ours = tmp_path / f"{number}.theirs", tmp_path / f"{number}.ours"
        run_python(script, archive, theirs)
        dali_lab.cli.main(["index", archive, "--output", str(ours)])
        assert ours.read_text() == theirs.read_text()


def test_reading_by_index(archives: list[str], tmp_path: Path) -> None:
    indices = []
    for number, archive in enumerate(archives):
        indices.append(str(tmp_path / f"{number}.index"))
        dali_lab.cli.main(["index", archive, "--output", indices[-1]])
    agree(4, 6, paths=archives, index_paths=indices, ext=["jpg", "cls"], random_shuffle=True, initial_fill=5)
    old = tmp_path / "old.idx"
    old.write_text("v1.1 2\njpg 1024 0\ncls 3072 8 jpg 1536 5\n")
    agree(paths=archives[0], index_paths=str(old), ext=["jpg", "cls"])


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("", ("i.idx", "line 1", "empty")),
        ("v1.0 1\njpg 512 2 a.jpg\n", ("i.idx", "v1.0", "v1.2")),
        ("v1.2 0\n", ("i.idx", "line 1", "at least 1")),
        ("v1.2\n", ("i.idx", "line 1")),
        ("v1.2 2\njpg 512 2 a.jpg\n", ("i.idx", "line 3")),
        ("v1.2 5\njpg 512 2 a.jpg\n", ("i.idx", "5 samples")),
        ("v1.2 1\njpg 513 2 a.jpg\n", ("i.idx", "line 2", "513")),
        ("v1.2 1\njpg 512 -2 a.jpg\n", ("i.idx", "line 2", "-2")),
        ("v1.2 1\njpg x 2 a.jpg\n", ("i.idx", "line 2", "numbers")),
        ("v1.2 1\njpg 512 2\n", ("i.idx", "line 2", "name")),
    ],
)
def test_damaged_index_files(tmp_path: Path, index: str, words: tuple[str, ...]) -> None:
    path = write_tar(tmp_path / "t.tar", PLAIN)
    (tmp_path / "i.idx").write_text(index)
    refused(words, paths=path, index_paths=str(tmp_path / "i.idx"), ext="jpg")


def refused(words: Sequence[str], **arguments: Any) -> None:
    """Building raises an error with these words."""
    with pytest.raises(DaliLabError) as caught:
        read(dali_lab, 2, 1, **arguments)
    for word in ("readers.webdataset", *words):
        assert word in str(caught.value)


def test_damaged_archives(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "t.tar", PLAIN)
    data = Path(path).read_bytes()
    for name, content, words in (
        ("pointer.tar", b"version https://git-lfs.github.com/spec/v1", ("not a tar archive",)),
        ("cut.tar", data[: 3 * 512 - 100], ("byte 1024", "middle")),
        ("damaged.tar", data[:1027] + b"?" + data[1028:], ("byte 1024", "damaged")),
        ("text.tar", b"x" * 2048, ("not a tar archive",)),
        ("empty.tar", b"", ("no sample",)),
        ("ends.tar", bytes(1024), ("no sample",)),
    ):
        (tmp_path / name).write_bytes(content)
        refused((name, *words), paths=str(tmp_path / name), ext="jpg")


def test_a_sample_beyond_the_end_is_named_and_the_next_batch_comes(tmp_path: Path) -> None:
    path = Path(write_tar(tmp_path / "t.tar", [(f"{i}.jpg", b"%d" % i * 600) for i in range(4)]))
    path.write_bytes(path.read_bytes()[: 3 * 1536 + 600])  # the last file ends in its middle
    with Pipeline(2, 2, None, prefetch_queue_depth=1) as pipeline:
        pipeline.set_outputs(fn.readers.webdataset(paths=str(path), ext="jpg"))
    assert len(pipeline.run()[0]) == 2
    with pytest.raises(SampleError, match=r"(?s)sample 1.*t\.tar:5120:3\.jpg") as caught:
        pipeline.run()
    assert "which has 5208" in str(caught.value)
    assert bytes(np.array(pipeline.run()[0].at(1))) == b"1" * 600


def test_wrong_arguments(archives: list[str], tmp_path: Path) -> None:
    refused(("paths", "nowhere.tar", "it does not exist"), paths="nowhere.tar", ext="jpg")
    refused(("paths", "it is a folder"), paths=str(tmp_path), ext="jpg")
    refused(("index_paths", "nowhere.idx"), paths=archives[0], index_paths="nowhere.idx", ext="jpg")
    refused(("index_paths", "2 index files for 1"), paths=archives[0], index_paths=["a", "b"], ext="jpg")
    refused(("paths", "empty list"), paths=[], ext="jpg")
    refused(("ext", "empty list"), paths=archives, ext=[])
    refused(("dtypes", "BOOL"), paths=archives, ext="jpg", dtypes=["BOOL"])
    refused(("dtypes", "2 types for 1"), paths=archives, ext="jpg", dtypes=["UINT8", "UINT8"])
    refused(("dtypes", "0_01.jpg", "INT16"), paths=archives, ext="jpg", dtypes=["INT16"])
    refused(("missing_component_behavior", "skip"), paths=archives, ext="jpg", missing_component_behavior="pad")
    refused(("0_00.jpg", "cls"), paths=archives, ext=["jpg", "cls"], missing_component_behavior="error")
    refused(("no sample has all",), paths=archives, ext=["jpg", "png"], missing_component_behavior="skip")
    if os.name == "posix" and os.geteuid():
        os.chmod(archives[0], 0)
        refused(("paths", "Permission denied"), paths=archives, ext="jpg")


@pytest.mark.parametrize("after_epoch", [False, True])
@pytest.mark.parametrize(("first", "second"), [(dali_lab, dali), (dali, dali_lab)], ids=["here", "there"])
def test_one_goes_on_where_the_other_was(archives: list[str], first: Any, second: Any, after_epoch: bool) -> None:
    def make(package: Any, saved: bytes | None = None) -> Any:
        settings = {"seed": 9, "enable_checkpointing": True, "checkpoint": saved}
        with package.Pipeline(4, 2, None, **settings) as pipeline:
            pipeline.set_outputs(
                package.fn.readers.webdataset(
                    paths=archives,
                    ext="cls",
                    random_shuffle=True,
                    initial_fill=5,
                    num_shards=2,
                    name="Reader",
                    shuffle_after_epoch=after_epoch,
                )
            )
        pipeline.build()
        return pipeline

    def take(pipeline: Any) -> list[bytes]:
        (batch,) = pipeline.run()
        return [np.array(batch.at(index)).tobytes() for index in range(len(batch))]

    for consumed in (0, 3, 7):
        whole = make(first)
        for _ in range(consumed):
            whole.run()
        resumed = make(second, whole.checkpoint())
        for _ in range(6):
            assert take(resumed) == take(whole)


def test_serialized_pipelines_go_both_ways(archives: list[str]) -> None:
    """And the names of older releases of NVIDIA DALI, files and exported code are tested with all operators."""

    def take(pipeline: Any) -> list[bytes]:
        return [np.array(batch.at(1)).tobytes() for batch in pipeline.run()]

    for package, other in ((dali_lab, dali), (dali, dali_lab)):
        with package.Pipeline(2, 1, None, seed=3) as pipeline:
            outputs = package.fn.readers.webdataset(
                paths=archives, ext=["jpg;png", "cls"], dtypes=[package.types.UINT8, package.types.INT64],
                missing_component_behavior="skip", random_shuffle=True, initial_fill=4,
            )  # fmt: skip
            pipeline.set_outputs(*outputs)
        again = other.Pipeline.deserialize(pipeline.serialize())
        pipeline.build()
        again.build()
        assert [take(pipeline) for _ in range(4)] == [take(again) for _ in range(4)]


def test_exported_code_and_files_keep_the_graph(archives: list[str]) -> None:
    from dali_lab.formats import dumps, loads

    with Pipeline(2, 1, None) as pipeline:
        encoded, label = fn.readers.webdataset(paths=archives, ext=["jpg;png", "cls"], dtypes=[UINT8, INT64])
        pipeline.set_outputs(fn.decoders.image(encoded), label)
    for form in ("json", "python", "nvidia-python", "dali-serialized"):
        assert loads(dumps(pipeline.graph, form)) == pipeline.graph, form


def test_outputs_are_called_by_their_extensions() -> None:
    from dali_lab.schema import find_operator

    reader = find_operator("readers.webdataset")
    names = [output.name for output in reader.present_outputs({"ext": ("jpg;png", "seg.png", "7")})]
    assert names == ["jpg_png", "seg_png", "component_2"]
    assert [output.name for output in reader.present_outputs({})] == ["component"]


def test_previews_look_at_archives_for_changes(tmp_path: Path) -> None:
    from dali_lab.graph.graph import Node
    from dali_lab.studio.preview.sources import paths_state

    path = write_tar(tmp_path / "t.tar", PLAIN)
    node = Node("reader", "readers.webdataset", "cpu", (), {"paths": (path,), "ext": ("jpg",)})
    before = paths_state(node)
    write_tar(tmp_path / "t.tar", PLAIN * 9)
    assert paths_state(node) != before


def test_the_command_names_what_it_cannot_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.tar"
    bad.write_bytes(b"nothing")
    assert dali_lab.cli.main(["index", str(bad)]) == 2
    assert "bad.tar" in capsys.readouterr().err
    good = write_tar(tmp_path / "good.tar", PLAIN)
    assert dali_lab.cli.main(["index", good]) == 0
    assert (tmp_path / "good.idx").read_text().startswith("v1.2 3\njpg 512 2 a.jpg cls 1536 8 a.cls\n")
    assert dali_lab.cli.main(["index", good, good, "-o", "x"]) == 2
    spaced = write_tar(tmp_path / "s.tar", [("a b.jpg", b"1")])
    assert dali_lab.cli.main(["index", spaced]) == 2
    assert "'a b.jpg'" in capsys.readouterr().err
