"""Every operator's example runs as it stands, on inputs of the names that examples use."""

from __future__ import annotations

import ast
import inspect
import io
import itertools
import json
import struct
import warnings
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import pytest
from astropy.io import fits
from PIL import Image

from dali_lab import DataNode, Pipeline, fn, math, tfrecord, types
from dali_lab.kernels.cuda.user import register as register_kernel
from dali_lab.operators.readers.lmdb.messages import caffe2_messages
from dali_lab.plugin import c
from dali_lab.schema import all_operators, find_operator, samples
from tests.unit.pipeline.test_c_function import compiled
from tests.unit.readers.records import datum, example, write, write_lmdb, write_tar

SIZE = 3
BIG = ((256, 320),) * SIZE


def rows(*values: Any, dtype: Any = np.float32) -> list[np.ndarray]:
    return [np.array(values, dtype)] * SIZE


def squares() -> tuple[list[np.ndarray], str]:
    mask = np.zeros((20, 30), np.uint8)
    mask[3:9, 4:12] = 1
    mask[12:18, 20:28] = 2
    return [mask] * SIZE, "HW"


def encoded() -> list[np.ndarray]:
    return [np.frombuffer(jpeg(seed), np.uint8) for seed in range(SIZE)]


def jpeg(seed: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(samples.picture(256, 320, seed=seed)).save(file, "JPEG")
    return file.getvalue()


def packed() -> list[np.ndarray]:
    return [np.frombuffer(imagecodecs.lz4_encode(bytes(480 * 640 * 3)), np.uint8)] * SIZE


BATCHES: dict[str, Callable[[], Any]] = {
    "images": lambda: samples.pictures(BIG),
    "image": lambda: samples.pictures(BIG),
    "left": lambda: samples.pictures(BIG),
    "right": lambda: samples.pictures(BIG),
    "before": lambda: samples.pictures(BIG),
    "after": lambda: samples.pictures(BIG),
    "gray": lambda: samples.pictures(channels=1),
    "masks": squares,
    "volumes": lambda: samples.volumes(),
    "sequences": lambda: samples.sequences((8, 8, 8)),
    "video": lambda: samples.sequences((3, 2, 3)),
    "sound": lambda: samples.waves((8000, 9000, 8500)),
    "waves": lambda: samples.waves(),
    "signal": lambda: samples.waves(),
    "mels": lambda: [samples.noise((80, 12), np.float32)] * SIZE,
    "boxes": lambda: rows([0.1, 0.2, 0.6, 0.7], [0.3, 0.3, 0.5, 0.9]),
    "box": lambda: rows(2, 3, 200, 210, dtype=np.int32),
    "landmarks": lambda: rows([0.1, 0.2], [0.5, 0.6]),
    "labels": lambda: rows(1, 2, dtype=np.int32),
    "mask_ids": lambda: rows(1, dtype=np.int32),
    "polygons": lambda: rows([0, 0, 3], [1, 3, 6], dtype=np.int32),
    "vertices": lambda: [samples.noise((6, 2), np.float32)] * SIZE,
    "angle": lambda: rows(30)[:1] * SIZE,
    "mapx": lambda: [samples.noise((9, 8), np.float32)] * SIZE,
    "mapy": lambda: [samples.noise((9, 8), np.float32)] * SIZE,
    "x": lambda: rows([1, 2, 3], [4, 5, 6], dtype=np.int32),
    "y": lambda: rows([1, 2, 3], [3, 2, 1], dtype=np.int32),
    "z": lambda: rows([9, 9, 9], [9, 9, 9], dtype=np.int32),
    "raw": lambda: ([samples.noise((8, 10))] * SIZE, "HW"),
    "payload": lambda: [samples.noise((48,))] * SIZE,
    "encoded": encoded,
}
SPECIAL: dict[str, dict[str, Callable[[], Any]]] = {
    "experimental.remap": {"images": samples.pictures},
    "multi_paste": {"images": lambda: samples.pictures(((224, 224),) * SIZE)},
    "decoders.video": {"encoded": lambda: [samples.video(count=32)] * SIZE},
    "decoders.inflate": {"packed": packed, "sizes": lambda: [np.array([len(row)], np.int32) for row in packed()]},
    "mixing.mixup": {"labels": lambda: rows(1, dtype=np.int32)},
    "mixing.cutmix": {"labels": lambda: rows(1, dtype=np.int32)},
}


def coco(folder: Path) -> None:
    (folder / "images").mkdir()
    images = [{"id": index, "file_name": f"{index}.jpg", "width": 320, "height": 256} for index in range(2)]
    for index in range(2):
        (folder / "images" / f"{index}.jpg").write_bytes(jpeg(index))
    data = {"images": images, "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 40]}]}
    (folder / "instances.json").write_text(json.dumps(data))


def archives(folder: Path) -> None:
    for number in range(2):
        write_tar(folder / f"shard{number}.tar", [("a.jpg", jpeg(number)), ("a.cls", b"1")])


def records(folder: Path) -> None:
    content: dict[str, list[Any]] = {"image/encoded": [jpeg(0)], "image/object/bbox/label": [1, 2]}
    write(folder / "train", [example(content)])


def streams(folder: Path) -> None:
    (folder / "streams" / "first").mkdir(parents=True)
    for index in range(7):
        (folder / "streams" / "first" / f"{index}.jpg").write_bytes(jpeg(index))


def manifest(folder: Path) -> None:
    lines = []
    for index, sound in enumerate(samples.waves()):
        with wave.open(str(folder / f"{index}.wav"), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes((sound * 32767).astype(np.int16).tobytes())
        lines.append(json.dumps({"audio_filepath": str(folder / f"{index}.wav"), "text": "a word"}))
    (folder / "manifest.json").write_text("\n".join(lines))


def lmdb_of(record: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write_records(folder: Path) -> None:
        write_lmdb(folder / "lmdb", [record(jpeg(index)) for index in range(2)])

    return write_records


def tensors(picture: bytes) -> bytes:
    protos = [{"data_type": 4, "string_data": [picture]}, {"data_type": 2, "int32_data": [1]}]
    return bytes(caffe2_messages().TensorProtos(protos=protos).SerializeToString())


def record_io(folder: Path) -> None:
    body = struct.pack("<IfQQ", 0, 1, 0, 0) + jpeg(0)
    (folder / "train.rec").write_bytes(struct.pack("<II", 0xCED7230A, len(body)) + body)
    (folder / "train.idx").write_text("0\t0\n")


def clip(folder: Path) -> None:
    samples.video(count=64).tofile(folder / "clip.mp4")


FED: dict[str, dict[str, Callable[[], Any]]] = {"experimental.inputs.video": {"video": samples.video}}
"""Inputs of an example's nodes, by their names."""
FILES: dict[str, Callable[[Path], None]] = {
    "experimental.c_function": lambda folder: c.register("invert", compiled(folder)),
    "experimental.readers.video": clip,
    "readers.caffe": lmdb_of(lambda picture: datum(data=picture, label=1)),
    "readers.caffe2": lmdb_of(tensors),
    "readers.coco": coco,
    "readers.mxnet": record_io,
    "readers.nemo_asr": manifest,
    "readers.sequence": streams,
    "readers.tfrecord": records,
    "readers.webdataset": archives,
}
"""Functions that write the files that an example reads from the current folder."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pictures, arrays, sounds and videos."""
    root = tmp_path_factory.mktemp("examples")
    for kind in range(2):
        for name in ("image", "numpy", "audio", "video", "fits"):
            (root / name / f"class{kind}").mkdir(parents=True)
        (root / "image" / f"class{kind}" / "a.jpg").write_bytes(jpeg(kind))
        np.save(root / "numpy" / f"class{kind}" / "a.npy", samples.noise((3, 4, 5), seed=kind))
        np.save(root / "numpy" / f"{kind}.npy", samples.noise((3, 4, 5), seed=kind))
        units = [fits.PrimaryHDU(), fits.ImageHDU(samples.noise((3, 4), seed=kind))]
        fits.HDUList(units).writeto(root / "fits" / f"class{kind}" / "a.fits")
        samples.video(count=64).tofile(root / "video" / f"class{kind}" / "a.webm")
        with wave.open(str(root / "audio" / f"class{kind}" / "a.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16000)
            file.writeframes((samples.waves()[kind] * 32767).astype(np.int16).tobytes())
    return root


NAMES = [name for name, operator in all_operators().items() if not operator.hidden]
NAMES.remove("torch_python_function")  # takes PyTorch: tests/frameworks/loaders


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name: str, files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    FILES.get(name, lambda folder: None)(tmp_path)
    text = inspect.cleandoc(find_operator(name).example).replace(">>> ", "").replace("... ", "")
    tree = ast.parse(text)
    register_kernel("invert", source="__device__ void invert(const Sample& s, i64 i) { s.out[i] = 255 - s.in0[i]; }")
    words: dict[str, Any] = {
        "fn": fn,
        "math": math,
        "types": types,
        "tfrec": tfrecord,
        "np": np,
        "root": str(files / next((kind for kind in ("audio", "numpy", "video", "fits") if kind in name), "image")),
        "names": [str(path) for path in sorted(files.rglob("*.jpg"))] * SIZE,
        "batches": [(samples.pictures()[0], rows(1)) for _ in range(2)],
        "halve": lambda array: array,
        "default_boxes": [0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0],
    }
    with Pipeline(SIZE, 2, None, seed=1) as pipeline:
        batches = BATCHES | SPECIAL.get(name, {})
        for word in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & {*batches}:
            found = batches[word]()
            arrays, layout = found if isinstance(found, tuple) else (found, "")
            words[word] = fn.external_source(source=itertools.repeat(arrays), layout=layout)
        results = []
        for statement in tree.body:
            if isinstance(statement, ast.Expr):
                results.append(eval(ast.unparse(statement), words))
            else:
                exec(ast.unparse(statement), words)
                if isinstance(statement, ast.Assign):
                    results.append(eval(ast.unparse(statement.targets[0]), words))
        results = [list(result.values()) if isinstance(result, dict) else result for result in results]
        outputs = [node for result in results for node in (result if isinstance(result, (list, tuple)) else [result])]
        pipeline.set_outputs(*(node for node in outputs if isinstance(node, DataNode)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nodes for a GPU run on the CPU where there is none
        for node, data in FED.get(name, {}).items():
            pipeline.feed_input(node, [data()])
        pipeline.run()
