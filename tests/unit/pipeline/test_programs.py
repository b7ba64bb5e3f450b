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


LEGACY_IMAGENET = """
import sys, warnings
import torch
import nvidia.dali.ops as ops
import nvidia.dali.types as types
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.pytorch import DALIClassificationIterator, DALIGenericIterator


class HybridTrainPipe(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, data_dir, crop, shard_id, num_shards, dali_cpu=False):
        super(HybridTrainPipe, self).__init__(batch_size, num_threads, device_id, seed=12 + device_id)
        self.input = ops.FileReader(file_root=data_dir, shard_id=shard_id, num_shards=num_shards, random_shuffle=True,
                                    pad_last_batch=True)
        dali_device = 'cpu' if dali_cpu else 'gpu'
        decoder_device = 'cpu' if dali_cpu else 'mixed'
        self.decode = ops.ImageDecoderRandomCrop(device=decoder_device, output_type=types.RGB,
                                                 device_memory_padding=211025920, host_memory_padding=140544512,
                                                 random_aspect_ratio=[0.8, 1.25], random_area=[0.1, 1.0],
                                                 num_attempts=100)
        self.res = ops.Resize(device=dali_device, resize_x=crop, resize_y=crop, interp_type=types.INTERP_TRIANGULAR)
        self.cmnp = ops.CropMirrorNormalize(device=dali_device, output_dtype=types.FLOAT, output_layout=types.NCHW,
                                            crop=(crop, crop), image_type=types.RGB,
                                            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
                                            std=[0.229 * 255, 0.224 * 255, 0.225 * 255])
        self.coin = ops.CoinFlip(probability=0.5)
        print('DALI "{0}" variant'.format(dali_device))

    def define_graph(self):
        rng = self.coin()
        self.jpegs, self.labels = self.input(name="Reader")
        images = self.decode(self.jpegs)
        images = self.res(images)
        output = self.cmnp(images.gpu(), mirror=rng)
        return [output, self.labels]


class HybridValPipe(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, data_dir, crop, size, shard_id, num_shards):
        super(HybridValPipe, self).__init__(batch_size, num_threads, device_id, seed=12 + device_id)
        self.input = ops.FileReader(file_root=data_dir, shard_id=shard_id, num_shards=num_shards, random_shuffle=False,
                                    pad_last_batch=True)
        self.decode = ops.ImageDecoder(device="mixed", output_type=types.RGB)
        self.res = ops.Resize(device="gpu", resize_shorter=size, interp_type=types.INTERP_TRIANGULAR)
        self.cmnp = ops.CropMirrorNormalize(device="gpu", output_dtype=types.FLOAT, output_layout=types.NCHW,
                                            crop=(crop, crop), image_type=types.RGB,
                                            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
                                            std=[0.229 * 255, 0.224 * 255, 0.225 * 255])

    def define_graph(self):
        self.jpegs, self.labels = self.input(name="Reader")
        images = self.decode(self.jpegs)
        images = self.res(images)
        output = self.cmnp(images)
        return [output, self.labels]


def main():
    data = sys.argv[1]
    pipe = HybridTrainPipe(batch_size=4, num_threads=2, device_id=0, data_dir=data, crop=32, shard_id=0, num_shards=2)
    pipe.build()
    train_loader = DALIClassificationIterator(pipe, size=int(pipe.epoch_size("Reader") / 2))
    pipe = HybridValPipe(batch_size=4, num_threads=2, device_id=0, data_dir=data, crop=32, size=40, shard_id=0,
                         num_shards=1)
    pipe.build()
    val_loader = DALIGenericIterator(pipe, ["data", "label"], reader_name="Reader", fill_last_batch=False)
    for epoch in range(2):
        for i, batch in enumerate(train_loader):
            images = batch[0]["data"]
            target = batch[0]["label"].squeeze(-1).long()
            print("train", epoch, i, tuple(images.shape), images.dtype, target.tolist())
        seen = []
        for i, batch in enumerate(val_loader):
            assert batch[0]["data"].isfinite().all()
            seen += batch[0]["label"].flatten().tolist()
        print("val", epoch, len(seen), sum(seen))
        train_loader.reset()
        val_loader.reset()


main()
"""


def test_imagenet_in_the_old_object_api(folder: Path, tmp_path: Path) -> None:
    lines = run(LEGACY_IMAGENET, folder, tmp_path)
    assert lines[0] == 'DALI "gpu" variant'
    train = [line for line in lines if line.startswith("train")]
    assert len(train) == 6 and all("(4, 3, 32, 32) torch.float32" in line for line in train)
    assert [line for line in lines if line.startswith("val")] == ["val 0 21 10", "val 1 21 10"]


MODERN_IMAGENET = """
import sys
import torch
from nvidia.dali.pipeline import pipeline_def
import nvidia.dali.types as types
import nvidia.dali.fn as fn
from nvidia.dali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy


@pipeline_def(exec_dynamic=True)
def create_dali_pipeline(data_dir, crop, size, shard_id, num_shards, dali_cpu=False, is_training=True):
    images, labels = fn.readers.file(file_root=data_dir, shard_id=shard_id, num_shards=num_shards,
                                     random_shuffle=is_training, pad_last_batch=True, name="Reader")
    decoder_device, resize_device = ("cpu", "cpu") if dali_cpu else ("mixed", "gpu")
    if is_training:
        images = fn.decoders.image_random_crop(images, device=decoder_device, output_type=types.RGB,
                                               random_aspect_ratio=[0.8, 1.25], random_area=[0.1, 1.0],
                                               num_attempts=100)
        images = fn.resize(images, resize_x=crop, resize_y=crop, interp_type=types.INTERP_TRIANGULAR)
        mirror = fn.random.coin_flip(probability=0.5)
    else:
        images = fn.decoders.image(images, device=decoder_device, output_type=types.RGB)
        images = fn.resize(images, device=resize_device, size=size, mode="not_smaller",
                           interp_type=types.INTERP_TRIANGULAR)
        mirror = False
    images = fn.crop_mirror_normalize(images.gpu(), dtype=types.FLOAT, output_layout="CHW", crop=(crop, crop),
                                      mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
                                      std=[0.229 * 255, 0.224 * 255, 0.225 * 255], mirror=mirror)
    labels = labels.gpu()
    return images, labels


for training in (True, False):
    pipe = create_dali_pipeline(batch_size=4, num_threads=2, device_id=0, seed=12, data_dir=sys.argv[1], crop=32,
                                size=40, dali_cpu=False, shard_id=0, num_shards=1, is_training=training)
    pipe.build()
    loader = DALIClassificationIterator(pipe, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL,
                                        auto_reset=True)
    for epoch in range(2):
        labels = [label for batch in loader for label in batch[0]["label"].squeeze(-1).tolist()]
        print(training, epoch, len(labels), sum(labels), len(loader))
"""


def test_imagenet_today(folder: Path, tmp_path: Path) -> None:
    assert run(MODERN_IMAGENET, folder, tmp_path) == [
        f"{flag} {epoch} 21 10 6" for flag in (True, False) for epoch in (0, 1)
    ]


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
