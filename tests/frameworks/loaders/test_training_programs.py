"""Whole training programs written for NVIDIA DALI and PyTorch, old and new, run through the alias without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.test_their_programs import check_traced
from tests.unit.pipeline.test_programs import folder, run
from tests.unit.test_compat import check, installed

__all__ = ["folder", "installed"]  # fixtures


IMAGENET: dict[str, Any] = {
    "batch_size": 4, "num_threads": 2, "device_id": 0, "data_dir": "/x", "crop": 224, "shard_id": 0, "num_shards": 2,
}  # fmt: skip


def test_programs_are_traced() -> None:
    check_traced("classification", "training", IMAGENET, ["Reader", "images", "images_2", "mirror", "images_3"])
    validation = {**IMAGENET, "is_training": False}
    check_traced("classification", "training", validation, ["Reader", "images", "images_2"])


@pytest.mark.parametrize(
    "name", [".plugin.pytorch", ".plugin.pytorch.experimental.proxy", ".plugin.pytorch.experimental"]
)
def test_every_module_is_ours(installed: None, name: str) -> None:
    check(name)


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
