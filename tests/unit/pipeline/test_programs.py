"""Whole programs written for NVIDIA DALI, old and new, run through the alias on a machine with no GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.programs import run_python

cv2 = pytest.importorskip("cv2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-one small pictures in two folders of classes."""
    root = tmp_path_factory.mktemp("images")
    for index in range(21):
        directory = root / ("cats", "dogs")[index % 2]
        directory.mkdir(exist_ok=True)
        height, width = 60 + 3 * index, 90 - 2 * index
        y, x = np.mgrid[0:height, 0:width]
        picture = np.stack([2 * x, 2 * y, x + y + 5 * index], -1).clip(0, 255).astype(np.uint8)
        assert cv2.imwrite(str(directory / f"{index:02}.jpg"), picture)
    return root


def run(program: str, folder: Path, tmp_path: Path) -> list[str]:
    script = tmp_path / "program.py"
    script.write_text(program)
    return run_python("-m", "dali_lab", "run", script, folder).stdout.splitlines()


GETTING_STARTED = """
import sys
from nvidia.dali import pipeline_def
import nvidia.dali.fn as fn
import nvidia.dali.types as types
import numpy as np

image_dir = sys.argv[1]
max_batch_size = 8


@pipeline_def
def simple_pipeline():
    jpegs, labels = fn.readers.file(file_root=image_dir)
    images = fn.decoders.image(jpegs, device="cpu")
    return images, labels


pipe = simple_pipeline(batch_size=max_batch_size, num_threads=1, device_id=0)
pipe.build()
pipe_out = pipe.run()
print(len(pipe_out))
images, labels = pipe_out
print(images.is_dense_tensor(), labels.is_dense_tensor())
print(np.array(labels.as_tensor().shape()).tolist(), labels.as_array().flatten().tolist())
print(images.at(0).shape)


@pipeline_def
def shuffled_pipeline():
    jpegs, labels = fn.readers.file(file_root=image_dir, random_shuffle=True, initial_fill=21)
    images = fn.decoders.image(jpegs, device="cpu")
    return images, labels


pipe = shuffled_pipeline(batch_size=max_batch_size, num_threads=1, device_id=0, seed=1234)
print(pipe.run()[1].as_array().flatten().tolist())


@pipeline_def
def random_rotated_pipeline():
    jpegs, labels = fn.readers.file(file_root=image_dir, random_shuffle=True, initial_fill=21)
    images = fn.decoders.image(jpegs, device="mixed")
    angle = fn.random.uniform(range=(-10.0, 10.0))
    rotated_images = fn.rotate(images.gpu(), angle=angle, fill_value=0)
    return rotated_images, labels, angle


pipe = random_rotated_pipeline(batch_size=max_batch_size, num_threads=2, device_id=0, seed=1234)
images, labels, angle = pipe.run()
print(type(images).__name__, len(images.as_cpu()), images.as_cpu().at(0).ndim, labels.as_array().flatten().tolist())
print([round(float(value), 4) for value in angle.as_array()])
"""


def test_getting_started(folder: Path, tmp_path: Path) -> None:
    lines = run(GETTING_STARTED, folder, tmp_path)
    assert lines[0] == "2" and lines[1] == "False True"
    assert lines[2] == "[8, 1] [0, 0, 0, 0, 0, 0, 0, 0]"
    assert lines[3] == "(60, 90, 3)"
    assert len(lines) == 7 and lines[5].endswith(lines[4]), "one seed, one order"
    assert lines[5].startswith("TensorList") and " 8 3 " in lines[5]


CONDITIONAL = """
import sys
from nvidia.dali import pipeline_def, fn, types


@pipeline_def(num_threads=4, device_id=0, batch_size=4, seed=42, enable_conditionals=True)
def rotate_some(probability):
    encoded, _ = fn.readers.file(file_root=sys.argv[1], random_shuffle=True)
    image = fn.decoders.image(encoded)
    do_rotate = fn.random.coin_flip(probability=probability, dtype=types.DALIDataType.BOOL)
    if do_rotate:
        result = fn.rotate(image, angle=fn.random.uniform(range=[10, 30], seed=42), fill_value=0)
    else:
        result = image
    return result, image, do_rotate


for probability in (0.0, 0.5, 1.0):
    result, image, rotated = rotate_some(probability).run()
    print([int(flag) for flag in rotated.as_array()], [result.at(i).shape == image.at(i).shape for i in range(4)])
"""


def test_conditional_execution(folder: Path, tmp_path: Path) -> None:
    lines = run(CONDITIONAL, folder, tmp_path)
    assert lines[0] == "[0, 0, 0, 0] [True, True, True, True]"
    assert lines[2] == "[1, 1, 1, 1] [False, False, False, False]"


EXTERNAL = """
import sys, collections, os
from random import shuffle, seed
import numpy as np
from nvidia.dali.pipeline import Pipeline
import nvidia.dali.fn as fn
import nvidia.dali.ops as ops

seed(3)
batch_size = 5


class ExternalInputIterator(object):
    def __init__(self, batch_size):
        self.images_dir = sys.argv[1]
        self.batch_size = batch_size
        self.files = sorted(os.path.join(root, name) for root, _, names in os.walk(self.images_dir) for name in names)
        shuffle(self.files)

    def __iter__(self):
        self.i = 0
        self.n = len(self.files)
        return self

    def __next__(self):
        batch = []
        labels = []
        for _ in range(self.batch_size):
            with open(self.files[self.i], 'rb') as f:
                batch.append(np.frombuffer(f.read(), dtype=np.uint8))
            labels.append(np.array([int("dogs" in self.files[self.i])], dtype=np.uint8))
            self.i = (self.i + 1) % self.n
        return (batch, labels)


pipe = Pipeline(batch_size=batch_size, num_threads=2, device_id=0)
with pipe:
    jpegs, labels = fn.external_source(source=ExternalInputIterator(batch_size), num_outputs=2, dtype=[0, 0]
                                       if False else None)
    decode = fn.decoders.image(jpegs, device="mixed")
    enhance = fn.brightness_contrast(decode, contrast=2)
    pipe.set_outputs(enhance, labels)
pipe.build()
total = 0
for _ in range(4):
    images, labels = pipe.run()
    total += int(labels.as_array().sum())
print(total, images.as_cpu().at(2).ndim)


class ExternalSourcePipeline(Pipeline):
    def __init__(self, data_iterator, batch_size, num_threads, device_id):
        super().__init__(batch_size, num_threads, device_id, seed=12)
        self.input = ops.ExternalSource()
        self.input_label = ops.ExternalSource()
        self.decode = ops.ImageDecoder(device="cpu")
        self.cast = ops.Cast(device="cpu", dtype=__import__("nvidia.dali.types").dali.types.INT32)
        self.iterator = data_iterator

    def define_graph(self):
        self.jpegs = self.input()
        self.labels = self.input_label()
        return self.cast(self.decode(self.jpegs)), self.labels

    def iter_setup(self):
        images, labels = next(self.iterator)
        self.feed_input(self.jpegs, images)
        self.feed_input(self.labels, labels)


pipe = ExternalSourcePipeline(iter(ExternalInputIterator(batch_size)), batch_size, 2, 0)
pipe.build()
for _ in range(3):
    images, labels = pipe.run()
print(images.dtype, labels.as_array().shape)
"""


def test_external_sources(folder: Path, tmp_path: Path) -> None:
    lines = run(EXTERNAL, folder, tmp_path)
    assert 8 <= int(lines[0].split()[0]) <= 11 and lines[0].endswith(" 3")
    assert lines[1] == "DALIDataType.INT32 (5, 1)"
