"""Targets of fuzzing: good files of each format, and the function that reads a damaged one.

A target is a function that takes an empty folder and gives good files, each of one or several parts, and a function
that reads such parts once they are damaged. Only errors of the package may come out of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Parts = tuple[bytes, ...]


class Target(NamedTuple):
    """Good files, and the function that reads damaged ones."""

    files: list[Parts]
    read: Callable[[Parts], None]


def _fed(define: Callable[[Any], Any]) -> Callable[[Parts], None]:
    """Reads by a pipeline that is fed one sample at a time, and stays usable after every error."""
    import dali_lab
    from dali_lab import fn

    pipeline = dali_lab.Pipeline(1, 1, None, exec_pipelined=False, exec_async=False, prefetch_queue_depth=1)
    with pipeline:
        pipeline.set_outputs(define(fn.external_source(name="data", device="cpu")))
    pipeline.build()

    def read(parts: Parts) -> None:
        pipeline.feed_input("data", [np.frombuffer(parts[0], np.uint8)])
        pipeline.run()

    return read


def _reader(folder: Path, names: Sequence[str], define: Callable[[], Any]) -> Callable[[Parts], None]:
    """Reads files of these names, two batches of them, from the beginning each time: all but tracing and threads."""
    import dali_lab
    from dali_lab.executor.engine import Engine
    from dali_lab.executor.plan import make_plan
    from dali_lab.executor.pool import InlinePool
    from dali_lab.executor.sources.opening import open_sources
    from dali_lab.graph.passes import optimized
    from dali_lab.graph.seeds import graph_seeds

    pipeline = dali_lab.Pipeline(3, 1, None, seed=1)
    with pipeline:
        outputs = define()
        pipeline.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    graph = optimized(pipeline.graph)
    seeds = graph_seeds(graph, 1)
    pool = InlinePool()

    def read(parts: Parts) -> None:
        for name, content in zip(names, parts, strict=True):
            (folder / name).write_bytes(content)
        plan = make_plan(graph)
        try:
            sources = open_sources(plan.sources, seeds, checkpointing=False, device=None, workers=None)
            engine = Engine(plan, 1, seeds, pool=pool)
            for number in range(2):
                run = engine.start(
                    engine.prepare(number, 3, {name: source.draw(3) for name, source in sources.items()})
                )
                pool.run()
                run.outputs()
        finally:
            plan.close()

    return read


def pictures(folder: Path) -> Target:
    from dali_lab import fn
    from tests.unit.codecs import pictures

    return Target([(data,) for data in pictures.all_files().values()], _fed(lambda data: fn.decoders.image(data)))


def codes(folder: Path) -> Target:
    """JPEG pictures read by our reader of Huffman codes and by the library's: the same pixels, or both refuse."""
    from dali_lab.codecs.backends import libjpeg
    from dali_lab.codecs.headers import read_headers
    from dali_lab.kernels.cpu import background
    from dali_lab.kernels.cpu.machine import jpeg
    from dali_lab.kernels.cpu.memory import rows
    from dali_lab.model.batch import Batch
    from tests.unit.codecs import pictures

    with background.at_once():
        assert libjpeg.available()
    functions, structures = libjpeg.tables()
    refuse = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int64)(lambda library, version: 0)

    def read(parts: Parts) -> None:
        data = np.frombuffer(parts[0], np.uint8)
        header = read_headers(Batch.of([data]))[0]
        size = header.height, header.width
        if header.bits != 8 or header.channels not in (1, 3) or not 0 < size[0] * size[1] <= 1 << 22:
            return
        rng = np.random.default_rng(zlib.crc32(parts[0]))
        top, left = rng.integers(0, size)
        window = (top, left, rng.integers(top + 1, size[0] + 1), rng.integers(left + 1, size[1] + 1))
        for box in ((0, 0, *size), window):
            results = []
            for table in (functions, np.append(functions[:-1], ctypes.cast(refuse, ctypes.c_void_p).value)):
                out, done = np.zeros((box[2] - box[0], box[3] - box[1], 3), np.uint8), np.zeros(1, np.int64)
                jpeg.decode(
                    table, structures, rows([data.ctypes.data]), rows([len(data)]), rows([[*size, 3]]), rows([box]),
                    rows([1]), rows([jpeg.RGB]), False, rows([out.ctypes.data]), done, jpeg.memory_for(size[1] * 3),
                )  # fmt: skip
                results.append(out.tobytes() if done[0] else None)
            assert results[0] == results[1]

    files = [(data,) for data in pictures.all_files().values() if data[:2] == b"\xff\xd8"]
    return Target(files, read)


def sounds(folder: Path) -> Target:
    from dali_lab import fn
    from dali_lab.operators.decoders.audio import _file, _files

    wave = np.sin(np.arange(3000) / 20).astype(np.float32)
    kinds = [("MP3", "MPEG_LAYER_III"), ("AIFF", "PCM_16"), ("WAV", "GSM610"), ("OGG", "OPUS"), ("WAV", "PCM_U8")]
    more = [_file(wave, 16000, *kind) for kind in kinds]
    files = [(array.tobytes(),) for array in (*_files(), *more)]
    return Target(files, _fed(lambda data: fn.decoders.audio(data)[0]))


def videos(folder: Path) -> Target:
    from dali_lab import fn
    from dali_lab.schema import samples

    kinds = [("libx264", "mp4"), ("mpeg4", "avi"), ("libvpx", "webm"), ("libx264", "matroska"), ("mjpeg", "avi")]
    files = [
        (samples.video(count=6, group=3, codec=codec, container=container).tobytes(),) for codec, container in kinds
    ]
    return Target(files, _fed(lambda data: fn.experimental.decoders.video(data)))


def archives(folder: Path) -> Target:
    from dali_lab import fn
    from tests.unit.readers.records import write_tar

    files = []
    entries: list[tuple[str, bytes | None]] = [(f"{'a' * 90 * (i % 2)}{i}.cls", b"%d" % i * 300) for i in range(6)]
    for form in range(3):
        content = Path(write_tar(folder / "good.tar", entries, form)).read_bytes()
        files.append((content, b"v1.2 2\ncls 512 300 0.cls\ncls 1536 300 1.cls\n", b"01"[form % 2 :]))
    path, index = str(folder / "a.tar"), str(folder / "a.idx")
    by_index = _reader(
        folder, ("a.tar", "a.idx"), lambda: fn.readers.webdataset(paths=path, index_paths=index, ext="cls")
    )
    plain = _reader(folder, ("a.tar",), lambda: fn.readers.webdataset(paths=path, ext="cls"))

    def read(parts: Parts) -> None:
        if len(parts[2]) % 2:
            by_index(parts[:2])
        else:
            plain(parts[:1])

    return Target(files, read)


def records(folder: Path) -> Target:
    from dali_lab import fn, tfrecord
    from tests.unit.readers import records

    features = {
        "s": tfrecord.FixedLenFeature([], tfrecord.string, ""),
        "i": tfrecord.VarLenFeature(tfrecord.int64, 0),
        "f": tfrecord.FixedLenFeature([2], tfrecord.float32, 0.0),
    }
    files = []
    for packed in (True, False):
        examples = [
            records.example({"s": [b"text" * i], "i": [i, -1, 1 << 40], "f": [0.5, float(i)]}, packed) for i in range(5)
        ]
        path, index = records.write(folder / "good.rec", examples)
        files.append((Path(path).read_bytes(), Path(index).read_bytes()))
    path, index = str(folder / "a.rec"), str(folder / "a.idx")
    define: Any = lambda: list(fn.readers.tfrecord(path=path, index_path=index, features=features).values())  # noqa: E731
    return Target(files, _reader(folder, ("a.rec", "a.idx"), define))


def recordio(folder: Path) -> Target:
    from dali_lab import fn
    from tests.unit.readers.records import write_recordio

    good = write_recordio(folder / "good", [(b"%04d" % i * 20, float(i)) for i in range(5)])
    files = [(Path(good["path"][0]).read_bytes(), Path(good["index_path"]).read_bytes())]
    path, index = str(folder / "a.rec"), str(folder / "a.idx")
    return Target(files, _reader(folder, ("a.rec", "a.idx"), lambda: fn.readers.mxnet(path=path, index_path=index)))


def lmdb(folder: Path) -> Target:
    from dali_lab import fn
    from tests.unit.readers.records import datum, write_lmdb

    path = write_lmdb(folder / "good", [datum(data=b"%04d" % i * 30, label=i) for i in range(40)])
    content = (Path(path) / "data.mdb").read_bytes()
    return Target([(content,)], _reader(folder, ("a.mdb",), lambda: fn.readers.caffe(path=str(folder / "a.mdb"))))


def coco(folder: Path) -> Target:
    from dali_lab import fn
    from tests.unit.readers import coco_data

    arguments = coco_data.write(folder, coco_data.annotations())
    content = Path(arguments["annotations_file"]).read_bytes()
    options = {"file_root": str(folder), "annotations_file": str(folder / "a.json")}
    drawn = _reader(folder, ("a.json",), lambda: fn.readers.coco(**options, pixelwise_masks=True))
    polygons = _reader(folder, ("a.json",), lambda: fn.readers.coco(**options, polygon_masks=True, ratio=True))

    def read(parts: Parts) -> None:
        (drawn if len(parts[0]) % 2 else polygons)(parts)

    return Target([(content,)], read)


def nemo(folder: Path) -> Target:
    from dali_lab import fn
    from dali_lab.operators.decoders.audio import _files

    (folder / "a.wav").write_bytes(_files()[0].tobytes())
    lines = [
        {
            "audio_filepath": str(folder / "a.wav"),
            "text": f"t\u00e4xt {i}",
            "duration": 0.1 * (i + 1),
            "offset": 0.01 * i,
        }
        for i in range(4)
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    define: Any = lambda: fn.readers.nemo_asr(manifest_filepaths=str(folder / "m.json"), read_idxs=True)  # noqa: E731
    return Target([(content,)], _reader(folder, ("m.json",), define))


def fits(folder: Path) -> Target:
    import gzip

    from astropy.io import fits

    from dali_lab import fn

    data = np.arange(600, dtype=np.int16).reshape(20, 30)
    files = []
    for unit in (fits.ImageHDU(data), fits.ImageHDU(data.astype(np.float32)), fits.CompImageHDU(data)):
        fits.HDUList([fits.PrimaryHDU(), unit]).writeto(folder / "good.fits", overwrite=True)
        files.append(((folder / "good.fits").read_bytes(),))
    files.append((gzip.compress(files[0][0]),))
    define: Any = lambda: fn.experimental.readers.fits(files=[str(folder / "a.fits")])  # noqa: E731
    return Target(files, _reader(folder, ("a.fits",), define))


def npy(folder: Path) -> Target:
    from dali_lab import fn
    from dali_lab.operators.decoders.numpy import _encoded

    block = np.arange(600, dtype=np.float32).reshape(20, 30)
    arrays = (block, np.asfortranarray(block), np.float64(3), block.astype(np.uint8)[None])
    files = [(_encoded(array).tobytes(),) for array in arrays]
    decode = _fed(lambda data: fn.decoders.numpy(data))
    path = str(folder / "a.npy")
    whole = _reader(folder, ("a.npy",), lambda: fn.readers.numpy(files=[path]))
    part = _reader(
        folder,
        ("a.npy",),
        lambda: fn.readers.numpy(files=[path], rel_roi_start=[0.1], rel_roi_shape=[0.5], roi_axes=[0]),
    )

    def read(parts: Parts) -> None:
        (decode, whole, part)[len(parts[0]) % 3](parts)

    return Target(files, read)


def graphs(folder: Path) -> Target:
    from dali_lab.model.errors import FormatError
    from tests.fuzz import formats

    def read(parts: Parts) -> None:
        with contextlib.suppress(FormatError):
            formats.read_others(parts[0])
        formats.read(parts[0])

    return Target([(content,) for content in formats.seeds()], read)


def checkpoints(folder: Path) -> Target:
    from tests.fuzz import formats

    return Target([(content,) for content in formats.checkpoints()], lambda parts: formats.restore(parts[0]))


def messages(folder: Path) -> Target:
    """Messages of the editor: every method's parameters, and documents."""
    import msgspec

    from dali_lab.studio.session import HANDLERS, parameters

    texts = [
        '{"run": 1, "samples": 4, "thumb": 96}',
        '{"changes": [{"kind": "set", "node": "a", "value": 1}], "base": 3}',
    ]
    graph = {"op": "flip", "inputs": ["a:1", None], "arguments": {"horizontal": 1}, "device": "cpu"}
    texts += [json.dumps({"node": "a", "path": "/x", "text": "t", "content": {"nodes": {"a": graph}}, "nodes": ["a"]})]
    kinds = sorted({kind for kind, _ in HANDLERS.values()}, key=str)

    def read(parts: Parts) -> None:
        from dali_lab.model.errors import FormatError

        try:
            params = json.loads(parts[0])
        except (ValueError, RecursionError):
            raise FormatError("no JSON: the host refuses it") from None
        for kind in kinds:
            with contextlib.suppress(msgspec.ValidationError):
                parameters(params, kind)

    return Target([(text.encode(),) for text in texts], read)


TARGETS: dict[str, Callable[[Path], Target]] = {
    make.__name__: make
    for make in (
        pictures, codes, sounds, videos, archives, records, recordio, lmdb, coco, nemo, fits, npy, graphs, checkpoints,
        messages,
    )
}  # fmt: skip
