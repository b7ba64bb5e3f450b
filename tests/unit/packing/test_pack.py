"""A packed dataset gives the samples of the graph that it was made of, each once, and can be read by others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn, formats, pipeline_def
from dali_lab.cli.entry import main
from dali_lab.model.errors import FormatError, GraphError, SampleError
from dali_lab.packing import Packing, pack
from tests.unit.readers import coco_data, datasets

COUNT = 11


@pytest.fixture
def root(tmp_path: Path) -> Path:
    import cv2

    for index in range(COUNT):
        picture = np.random.default_rng(index).integers(0, 255, (12, 9, 3), np.uint8)
        path = tmp_path / "files" / "ab"[index % 2] / f"{index:02}{'.jpg' if index % 3 else '.png'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), cv2.resize(picture, (60 + index, 48)))
    return tmp_path / "files"


def graph(root: Path, **reader: Any) -> Any:
    @pipeline_def(batch_size=4, num_threads=2, seed=3)
    def training() -> Any:
        encoded, labels = fn.readers.file(file_root=str(root), name="Reader", **reader)
        images = fn.decoders.image_random_crop(encoded, name="images")
        small = fn.resize(images, size=(20, 24), name="small")
        return fn.crop_mirror_normalize(small, mirror=fn.random.coin_flip()), labels

    return training().graph


def plain(root: Path, **reader: Any) -> Any:
    """Without random numbers, so that samples can be compared wherever they stand."""

    @pipeline_def(batch_size=4, num_threads=2)
    def validation() -> Any:
        encoded, labels = fn.readers.file(file_root=str(root), name="Reader", **reader)
        images = fn.decoders.image(encoded, name="images")
        small = fn.resize(images, size=(20, 24), name="small")
        return small, images, labels

    return validation().graph


def samples(graph: Any, count: int = COUNT) -> list[list[np.ndarray]]:
    """The samples of an epoch, in order."""
    pipeline = Pipeline.from_graph(graph, batch_size=1)
    found = []
    for _ in range(count):
        outputs = pipeline.run()
        found.append([np.array(output[0]) for output in outputs])
        found[-1].append(np.array(list(outputs[0].layout().encode())))
    pipeline.close()
    return found


def in_any_order(found: list[list[np.ndarray]]) -> list[tuple[bytes, ...]]:
    return sorted(tuple(f"{each.dtype}{each.shape}".encode() + each.tobytes() for each in row) for row in found)


@pytest.mark.parametrize("form", ["webdataset", "tfrecord"])
@pytest.mark.parametrize("at", [None, "images", "small"])
def test_the_same_samples(form: str, at: str | None, root: Path, tmp_path: Path) -> None:
    made = plain(root)
    report = pack(made, tmp_path / "out", at=at, form=form, samples=4)
    assert (report.samples, report.shards) == (COUNT, 3)
    read = formats.load(report.graph)
    assert read.nodes["Reader"].op == f"readers.{form}"
    expected = samples(made)
    found = samples(read)
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.dtype == b.dtype and np.array_equal(a, b)


def test_shuffled_where_the_reader_shuffles(root: Path, tmp_path: Path) -> None:
    made = plain(root, random_shuffle=True)
    read = formats.load(pack(made, tmp_path / "out", samples=4).graph)
    assert read.nodes["Reader"].arguments["random_shuffle"] is True
    expected = samples(plain(root))
    found = samples(formats.load(pack(plain(root), tmp_path / "list", order="shuffled").graph))
    assert in_any_order(found) == in_any_order(expected)
    assert [row[-2].item() for row in found] != [row[-2].item() for row in expected]


def test_a_random_decoder_keeps_its_windows(root: Path, tmp_path: Path) -> None:
    """Whole pictures are packed, and the same windows are cut out of them."""
    made = graph(root)
    read = formats.load(pack(made, tmp_path / "out", at="images", samples=4).graph)
    for one, other in zip(samples(read), samples(made), strict=True):
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a, b)


def test_nvidia_dali_reads_it(root: Path, tmp_path: Path) -> None:
    """The graph goes to NVIDIA DALI as any other, which gives the same pixels for PNG files."""
    dali = pytest.importorskip("nvidia.dali")
    made = plain(root, file_filters=["*.png"])
    for form in ("webdataset", "tfrecord"):
        report = pack(made, tmp_path / form, at="small", form=form, samples=3)
        content = formats.dumps(formats.load(report.graph), "dali-serialized")
        theirs = dali.Pipeline.deserialize(content, device_id=None, batch_size=1)
        for row in samples(made, report.samples):
            found = theirs.run()
            assert all(np.array_equal(np.array(a[0]), b) for a, b in zip(found, row, strict=False))


@pytest.mark.parametrize("kind", ["tfrecord", "webdataset", "coco", "mxnet", "caffe", "numpy", "sequence"])
@pytest.mark.parametrize("form", ["webdataset", "tfrecord"])
def test_every_reader(kind: str, form: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    dataset = datasets.ALL[kind](tmp_path / "data", datasets.pictures(5))

    @pipeline_def(batch_size=2, num_threads=1)
    def reading() -> Any:
        data = dataset.read(name="Reader")
        return fn.decoders.image(data) if dataset.encoded else data

    report = pack(reading().graph, tmp_path / "out", form=form)
    expected = samples(reading().graph, 5)
    assert in_any_order(samples(formats.load(report.graph), 5)) == in_any_order(expected)


def test_boxes_and_labels_of_any_number(tmp_path: Path) -> None:
    arguments = coco_data.write(tmp_path, coco_data.annotations())

    @pipeline_def(batch_size=3, num_threads=1)
    def detection() -> Any:
        return tuple(fn.readers.coco(**arguments, polygon_masks=True, image_ids=True, name="Reader"))

    for form in ("webdataset", "tfrecord"):
        report = pack(detection().graph, tmp_path / form, form=form, samples=4)
        found, expected = samples(formats.load(report.graph), 9), samples(detection().graph, 9)
        assert in_any_order(found) == in_any_order(expected)


def test_goes_on_where_it_was(root: Path, tmp_path: Path) -> None:
    made = plain(root, random_shuffle=True)
    whole = pack(made, tmp_path / "whole", samples=3)
    packing = Packing(made, tmp_path / "out", samples=3)
    packing.open()
    seen = 0

    def stop(count: int) -> None:
        nonlocal seen
        seen += count
        if seen > 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        packing.run(stop)
    packing.close()
    assert not list((tmp_path / "out").glob(".*"))
    (tmp_path / "out" / ".shard-000002.tar.part").write_bytes(b"cut short")
    rest = Packing(made, tmp_path / "out", samples=3)
    rest.open()
    assert rest.todo == [2, 3]
    report = rest.run()
    rest.close()
    assert report.samples == whole.samples == COUNT
    for path in (tmp_path / "whole").glob("shard-*"):
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes()
    assert pack(made, tmp_path / "out", samples=3).samples == COUNT, "nothing is left to do"


def test_bad_samples(root: Path, tmp_path: Path) -> None:
    damaged = root / "b" / "05.jpg"
    damaged.write_bytes(damaged.read_bytes()[:200])
    with pytest.raises(SampleError, match=r"05\.jpg"):
        pack(plain(root), tmp_path / "out", at="images")
    report = pack(plain(root), tmp_path / "out", at="images", on_error="skip", samples=4, anew=True)
    assert report.samples == COUNT - 1
    assert len(report.bad) == 1 and "05.jpg" in report.bad[0]
    expected = samples(plain(root, exclude_list=_list(tmp_path, "b/05.jpg")), COUNT - 1)
    assert in_any_order(samples(formats.load(report.graph), COUNT - 1)) == in_any_order(expected)


def _list(folder: Path, path: str) -> str:
    (folder / "exclude.txt").write_text(f"{path}\n")
    return str(folder / "exclude.txt")


def test_small_pictures(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "training.dali.json"
    formats.dump(graph(root, random_shuffle=True), path)
    assert main(["pack", str(path), str(tmp_path / "out"), "--small"]) == 0
    assert "24 pixels on their shorter side at most: they are not exact" in capsys.readouterr().out
    read = formats.load(tmp_path / "out" / "graph.dali.json")
    images = read.replaced(outputs=(read.nodes["images"].inputs[0],))
    sizes = [fn_size(row[0]) for row in samples(images)]
    assert {min(size) for size in sizes} == {24} and max(map(max, sizes)) < 40
    assert samples(read)[0][0].shape == (3, 20, 24)
    assert main(["pack", str(path), str(tmp_path / "large"), "--small", "100"]) == 0
    read = formats.load(tmp_path / "large" / "graph.dali.json")
    images = read.replaced(outputs=(read.nodes["images"].inputs[0],))
    assert {min(fn_size(row[0])) for row in samples(images)} == {48}, "pictures never become larger"


def fn_size(encoded: np.ndarray) -> tuple[int, int]:
    import cv2

    return cv2.imdecode(encoded, cv2.IMREAD_COLOR).shape[:2]


def test_refusals(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GraphError, match="draws random numbers"):
        pack(graph(root), tmp_path / "out", at="crop_mirror_normalize")
    with pytest.raises(GraphError, match="there is no node 'imagse', did you mean 'images'"):
        pack(graph(root), tmp_path / "out", at="imagse")
    with pytest.raises(FormatError, match="holds other files"):
        pack(graph(root), root)
    pack(plain(root), tmp_path / "out")
    with pytest.raises(FormatError, match="holds another packed dataset"):
        pack(plain(root), tmp_path / "out", at="images")
    notes = tmp_path / "out" / "pack.json"
    path = tmp_path / "graph.dali.json"
    formats.dump(plain(root), path)
    found = json.loads(notes.read_text())
    for damaged in ({"format": "something else"}, {**found, "shards": [{"number": 0}]}, {**found, "shards": 3}, []):
        notes.write_text(json.dumps(damaged))
        assert main(["pack", str(path), str(tmp_path / "out")]) == 2
        assert "no record of a packed dataset" in capsys.readouterr().err


def test_folders_can_be_moved(root: Path, tmp_path: Path) -> None:
    report = pack(plain(root), tmp_path / "out")
    expected = samples(formats.load(report.graph))
    os.rename(tmp_path / "out", tmp_path / "moved")
    assert in_any_order(samples(formats.load(tmp_path / "moved" / report.graph.name))) == in_any_order(expected)


def test_checksums_are_those_of_tensorflow() -> None:
    """Values from the comments of RFC 3720, B.4, masked as in crc32c.h."""
    from dali_lab.kernels.cpu.crc32c import masked_crc32c

    for data, crc in ((b"\0" * 32, 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E)):
        assert masked_crc32c(data) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
