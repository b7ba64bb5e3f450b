"""Trains a small network with Accelerate, and goes on in mid-epoch from a checkpoint.

    accelerate launch examples/accelerate_training.py FOLDER [--epochs 2] [--save STATE] [--resume STATE]

FOLDER has one folder of pictures for each class. The iterator is registered for checkpoints, and not prepared: each
process has a pipeline of its own for its share of the files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

import dali_lab
from dali_lab import fn
from dali_lab.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy


class Progress:
    """Epochs that are over, and batches of all epochs so far."""

    def __init__(self) -> None:
        self.epochs = self.batches = 0

    def state_dict(self) -> dict[str, int]:
        """Both numbers."""
        return dict(vars(self))

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Take them back."""
        vars(self).update(state)


def batches_of(folder: str, batch_size: int, accelerator: Accelerator) -> DALIClassificationIterator:
    """Batches of this process's shard, decoded, cut at random, mirrored and normalised."""
    gpu = accelerator.device.type == "cuda"
    pipeline = dali_lab.Pipeline(
        batch_size, num_threads=2, device_id=accelerator.local_process_index if gpu else None,
        seed=1 + accelerator.process_index, enable_checkpointing=True,
    )  # fmt: skip
    with pipeline:
        encoded, labels = fn.readers.file(
            file_root=folder, random_shuffle=True, shard_id=accelerator.process_index,
            num_shards=accelerator.num_processes, pad_last_batch=True, name="Reader",
        )  # fmt: skip
        images = fn.decoders.image_random_crop(encoded, device="mixed" if gpu else "cpu")
        images = fn.resize(images, size=(32, 32))
        images = fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), mean=[128.0] * 3, std=[64.0] * 3)
        pipeline.set_outputs(images, labels.gpu() if gpu else labels)
    return DALIClassificationIterator(
        pipeline, reader_name="Reader", auto_reset=True, last_batch_policy=LastBatchPolicy.PARTIAL
    )


def main(
    arguments: list[str] | None = None, each: Callable[[int, torch.Tensor, float], None] = lambda *seen: None
) -> None:
    """Train for some epochs; `each` is called with the number, the pictures and the loss of every batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--save", help="folder for the state")
    parser.add_argument("--save-at", type=int, default=100, help="number of batches after which it is saved")
    parser.add_argument("--resume", help="folder of a state to go on from")
    found = parser.parse_args(arguments)
    set_seed(1)
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    batches = batches_of(found.folder, found.batch_size, accelerator)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(16, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    network, optimizer = accelerator.prepare(network, optimizer)
    progress = Progress()
    accelerator.register_for_checkpointing(batches, progress)
    if found.resume:
        accelerator.load_state(found.resume)
    while progress.epochs < found.epochs:
        for batch in batches:
            images, labels = batch[0]["data"], batch[0]["label"].reshape(-1).long()
            loss = torch.nn.functional.cross_entropy(network(images), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            each(progress.batches, images, loss.item())
            progress.batches += 1
            if found.save and progress.batches == found.save_at:
                accelerator.save_state(found.save)
        progress.epochs += 1


if __name__ == "__main__":
    main()
