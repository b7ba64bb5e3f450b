"""Pictures and labels from RecordIO files of MXNet, compared with NVIDIA DALI, and damaged files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")

import dali_lab
from tests.unit.readers.both_engines import (
    agree,
    goes_on_in_the_other,
    pipeline_of,
    read,
    refused,
    taken,
    travels,
)
from tests.unit.readers.records import RECORDIO_MAGIC, Item, write_recordio


@pytest.fixture
def some(tmp_path: Path) -> dict[str, Any]:
    return write_recordio(tmp_path / "some", [(b"%d" % i * (7 * i), float(i)) for i in range(17)])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"random_shuffle": True},
        {"random_shuffle": True, "initial_fill": 3, "seed": 11},
        {"num_shards": 3, "shard_id": 1},
        {"num_shards": 3, "shard_id": 2, "stick_to_shard": True, "random_shuffle": True, "initial_fill": 4},
        {"num_shards": 2, "pad_last_batch": True, "read_ahead": True},
        {"dont_use_mmap": True},
        {"shuffle_after_epoch": True, "shuffle_after_epoch_seed": 2, "num_shards": 2, "random_shuffle": True},
    ],
    ids=str,
)
def test_three_epochs_in_the_order_of_dali(some: dict[str, Any], arguments: dict[str, Any]) -> None:
    agree("readers.mxnet", 4, 14, **some, **arguments)


def test_the_name_of_older_releases(some: dict[str, Any]) -> None:
    assert read(dali_lab, "mxnet_reader", 4, 2, **some) == read(dali_lab, "readers.mxnet", 4, 2, **some)


def test_labels(tmp_path: Path) -> None:
    agree(
        "readers.mxnet", **write_recordio(tmp_path / "many", [(b"a" * i, [i, 0.5, 7.0][: 1 + i % 3]) for i in range(9)])
    )
    agree(
        "readers.mxnet", **write_recordio(tmp_path / "both", [(b"a" * i, [i, 2.0] if i % 2 else 1.5) for i in range(9)])
    )


def test_records_in_several_parts(tmp_path: Path) -> None:
    items: list[Item] = [(b"abcd" * i + RECORDIO_MAGIC * (i % 4) + b"xyz"[: i % 3], float(i)) for i in range(9)]
    items += [(RECORDIO_MAGIC, [1.0, 2.0]), (b"ab" + RECORDIO_MAGIC + b"cd" + RECORDIO_MAGIC, [3.0]), (b"", 4.0)]
    arguments = write_recordio(tmp_path / "parts", items)
    agree("readers.mxnet", 5, 4, **arguments)
    rows = taken(pipeline_of(dali_lab, "readers.mxnet", len(items), {}, **arguments))
    assert [row[0] for row in rows[: len(items)]] == [picture for picture, _ in items]


def test_several_files_with_one_index(tmp_path: Path) -> None:
    arguments = write_recordio(tmp_path / "several", [(b"a" * (5 * i), float(i)) for i in range(12)], files=3)
    agree("readers.mxnet", 4, 7, **arguments)
    agree("readers.mxnet", 4, 7, random_shuffle=True, initial_fill=5, **arguments)


def test_an_index_with_repeated_positions(some: dict[str, Any], tmp_path: Path) -> None:
    lines = Path(some["index_path"]).read_text()
    (tmp_path / "twice.idx").write_text(lines + lines + "what follows does not count")
    agree("readers.mxnet", 4, 7, path=some["path"], index_path=str(tmp_path / "twice.idx"))


def test_damaged_records_are_named_and_the_next_batch_comes(some: dict[str, Any]) -> None:
    path = Path(some["path"][0])
    content = bytearray(path.read_bytes())
    at = content.find(b"1" * 7) - 32
    for place, value, word in ((at, 0, "no record"), (at + 4, 250, "longer"), (at + 7, 0x20, "part"), (at + 9, 9, "l")):
        damaged = bytearray(content)
        damaged[place] = value
        path.write_bytes(damaged)
        reader = pipeline_of(dali_lab, "readers.mxnet", 2, {"prefetch_queue_depth": 1}, **some)
        with pytest.raises(dali_lab.DaliLabError, match=rf"(?s)sample 1.*damaged.*{word}.*0\.rec at index {at}"):
            reader.run()
        assert taken(reader)[0][0] == b"2" * 14


def test_wrong_files_and_arguments(some: dict[str, Any], tmp_path: Path) -> None:
    path, index = some["path"], some["index_path"]
    reader = "readers.mxnet"
    refused(reader, ("path", "nowhere.rec", "it does not exist"), path="nowhere.rec", index_path=index)
    refused(reader, ("index_path", "nowhere.idx", "it does not exist"), path=path, index_path="nowhere.idx")
    refused(reader, ("index_path", "got 2"), path=path, index_path=[index, index])
    refused(reader, ("path", "empty list"), path=[], index_path=index)
    refused(reader, ("index_path", "no lines"), path=path, index_path=path)
    refused(reader, ("path", "it is a folder"), path=str(tmp_path), index_path=index)
    other = write_recordio(tmp_path / "other", [(b"b" * 50, float(i)) for i in range(5)])
    refused(reader, ("no record", "0.rec at index"), path=path, index_path=other["index_path"])
    Path(path[0]).write_bytes(Path(path[0]).read_bytes()[:700])
    refused(reader, ("index_path", "all.idx", "of 700 bytes"), **some)
    for line in ("0 -4", "0 99999"):
        (tmp_path / "bad.idx").write_text(line)
        refused(reader, ("index_path", "bad.idx"), path=path, index_path=str(tmp_path / "bad.idx"))
    if os.name == "posix" and os.geteuid():
        os.chmod(path[0], 0)
        refused(reader, ("path", "Permission denied"), **some)


def test_checkpoints_and_graphs_go_both_ways(some: dict[str, Any]) -> None:
    order = {"random_shuffle": True, "initial_fill": 5, "num_shards": 2}
    goes_on_in_the_other("readers.mxnet", **some, **order)
    travels("readers.mxnet", **some, **order)
