"""Compiles kernels ahead of their first use, by running each operator's own small cases."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from dali_lab import fn
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import DaliLabError
from dali_lab.model.subprocesses import environment, own_module
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.cases import Case, PerSample
from dali_lab.schema.registry import all_operators

# The first pipeline from its end, as the app compiles it from its start; then the operators that users try next.
FIRST = (
    "crop_mirror_normalize", "rotate", "brightness_contrast", "random.uniform", "resize", "flip", "hsv", "color_twist",
    "crop", "gaussian_blur", "warp_affine", "random_resized_crop", "random.coin_flip", "erase",
)  # fmt: skip
_EXAMPLE = bytes.fromhex("0a1b 0a0d 0a0166 1208 1206 0a0400000000 0a0a 0a0169 1205 1a03 0a0100")
"""A record of TensorFlow: "f" is a list with the number 0.0, "i" one with 0."""
_NICE = 10
_AFTER_THE_START = 4.0
"""Seconds from the start of the app to that of compiling."""


def compile_kernels(tell: Callable[[float, str], None] | None = None) -> int:
    """Run every case of every operator once, so that its kernels are in the cache on disk.

    Parameters
    ----------
    tell
        Called with the share that is done and the operator that is next.

    Returns
    -------
    int
        Number of operators that ran.
    """
    from dali_lab.kernels.cpu import background

    with background.at_once():
        return _compile_kernels(tell)


def compile_graph(graph: Graph) -> None:
    """Run a graph for a batch, so that its kernels are in the cache on disk.

    Raises
    ------
    DaliLabError
        If it cannot be run.
    """
    from dali_lab.kernels.cpu import background

    with closing(Pipeline.from_graph(graph, prefetch_queue_depth=1)) as pipeline, background.at_once():
        pipeline.run()


def _compile_kernels(tell: Callable[[float, str], None] | None) -> int:
    operators = all_operators()
    order = [name for name in FIRST if name in operators]
    order += [name for name in operators if name not in order]
    ran = 0
    for index, name in enumerate(order):
        if tell is not None:
            tell(index / len(order), name)
        worked = False
        for case in operators[name].cases():
            worked = run_case(name, case) or worked
        ran += worked
    _compile_fused()
    _compile_readers()
    with contextlib.suppress(OSError):
        marker().touch()
    return ran


def marker() -> Path:
    """The file that says that the present kernels were all compiled."""
    from dali_lab.kernels.cpu import memory

    return (memory.CACHE_FOLDER or Path(memory.__file__).parent) / "all-compiled"


class Compiling:
    """Compiles all kernels in another process, at low urgency, unless that was done before."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._timer = threading.Timer(_AFTER_THE_START, self._begin)
        self._timer.daemon = True

    def begin_later(self) -> None:
        """Begin once the first pictures are likely there, from which another process would take time."""
        if not marker().exists():
            self._timer.start()

    def _begin(self) -> None:
        command, quiet = own_module("dali_lab.studio.warming"), subprocess.DEVNULL
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=environment()
            )

    def end(self) -> None:
        """End it, or do not begin."""
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def run_case(name: str, case: Case) -> bool:
    """Run one case; whether it ran."""
    inputs = [item if isinstance(item, tuple) else (item, "") for item in case.inputs]
    sizes = [len(arrays) for arrays, _ in inputs]
    sizes += [len(value.values) for value in case.arguments.values() if isinstance(value, PerSample)]
    pipeline = Pipeline(sizes[0] if sizes else case.batch_size, 1, None, seed=1, prefetch_queue_depth=1)
    function: Any = fn
    for part in name.split("."):
        function = getattr(function, part)
    try:
        with pipeline:
            nodes = [_source(arrays, layout) for arrays, layout in inputs]
            arguments = {
                key: _source(value.values, value.layout) if isinstance(value, PerSample) else value
                for key, value in case.arguments.items()
            }
            result = function(*nodes, **arguments)
            pipeline.set_outputs(*(result if isinstance(result, (tuple, list)) else (result,)))
        pipeline.run()
    except (DaliLabError, TypeError, ValueError, NotImplementedError, StopIteration):
        # A case that cannot run here has nothing to compile; the conformance tests look into the reason.
        return False
    finally:
        pipeline.close()
    return True


def _compile_fused() -> None:
    """Run a graph for each kernel that only graph passes introduce."""
    from dali_lab.codecs.encoding import encode_jpeg

    jpeg = np.frombuffer(encode_jpeg(np.zeros((8, 64, 3), np.uint8)), np.uint8)
    pipeline = Pipeline(1, 1, None, seed=1, prefetch_queue_depth=1)
    with pipeline:
        images = _source([np.zeros((8, 8, 3), np.uint8)], "HWC")
        wide = _source([np.zeros((8, 64, 3), np.uint8)], "HWC")
        decoded = fn.decoders.image(_source([jpeg], ""))
        pipeline.set_outputs(
            fn.crop_mirror_normalize(fn.resize(decoded, size=64), mean=1.0, std=2.0),
            fn.brightness_contrast(fn.hsv(images, hue=20.0), brightness=1.1),
            fn.crop_mirror_normalize(fn.resize(images, size=8), mean=1.0, std=2.0),
            fn.crop_mirror_normalize(fn.resize(wide, size=64), mean=1.0, std=2.0),
            images * 0.5 + 1.0,
        )
    pipeline.run()
    pipeline.close()


def _compile_readers() -> None:
    """Read a file of each kind whose reader has kernels, and shuffle a list: cases come without files."""
    from dali_lab.kernels.cpu import shuffle
    from dali_lab.model import features as tfrecord

    shuffle.swap(np.zeros(1, np.int64), 0, np.zeros(1, np.int64))
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 2], "segmentation": [[0, 0, 2, 0, 2, 2]]}
    picture = {"id": 1, "file_name": "array.npy", "width": 2, "height": 2}
    annotations = {"images": [picture], "categories": [{"id": 1}], "annotations": [box]}
    with tempfile.TemporaryDirectory() as folder:
        array, records, index, boxes = (
            os.path.join(folder, name) for name in ("array.npy", "records", "index", "boxes.json")
        )
        np.save(array, np.zeros((2, 2), np.float32))
        Path(records).write_bytes(len(_EXAMPLE).to_bytes(8, "little") + bytes(4) + _EXAMPLE + bytes(4))
        Path(index).write_text(f"0 {len(_EXAMPLE) + 16}\n")
        Path(boxes).write_text(json.dumps(annotations))
        features = {
            "f": tfrecord.VarLenFeature(tfrecord.float32, 0.0),
            "i": tfrecord.FixedLenFeature([1], tfrecord.int64, 0),
        }
        pipeline = Pipeline(2, 1, None, seed=1, prefetch_queue_depth=1)
        with pipeline:
            encoded, _ = fn.readers.file(files=[array, array])
            arrays = fn.readers.numpy(files=[array, array])
            numbers = fn.readers.tfrecord(path=records, index_path=index, features=features)
            *_, masks = fn.readers.coco(file_root=folder, annotations_file=boxes, pixelwise_masks=True)
            pipeline.set_outputs(encoded, arrays, fn.decoders.numpy(encoded), *numbers.values(), masks)
        pipeline.run()
        pipeline.close()


def _source(arrays: Any, layout: str) -> Any:
    batch = [np.asarray(array) for array in arrays]
    options: dict[str, Any] = {"layout": layout} if layout else {}
    return fn.external_source(source=lambda: batch, **options)


def _main() -> None:
    """Compile everything, and end when the parent process ends."""

    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_NICE)
    compile_kernels()


if __name__ == "__main__":
    _main()
