"""Trains a small network on one GPU, several, or none, each process with its own pipeline and its share of the files.

    torchrun --nproc-per-node 2 examples/torchrun_training.py FOLDER

FOLDER has one folder of pictures for each class. Where there is no GPU the same program runs on the CPU, with gloo.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import dali_lab
from dali_lab import fn
from dali_lab.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy


def training_pipeline(folder: str, batch_size: int, rank: int, ranks: int, device_id: int | None) -> dali_lab.Pipeline:
    """Pictures of this process's shard, decoded, cut at random, mirrored and normalised; and their labels."""
    gpu = device_id is not None
    pipeline = dali_lab.Pipeline(batch_size, num_threads=2, device_id=device_id, seed=1 + rank)
    with pipeline:
        encoded, labels = fn.readers.file(
            file_root=folder, random_shuffle=True, shard_id=rank, num_shards=ranks, pad_last_batch=True, name="Reader"
        )
        images = fn.decoders.image_random_crop(encoded, device="mixed" if gpu else "cpu")
        images = fn.resize(images, size=(64, 64))
        images = fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), mean=[128.0] * 3, std=[64.0] * 3)
        pipeline.set_outputs(images, labels.gpu() if gpu else labels)
    return pipeline


def main() -> None:
    """Train for some epochs; the first process prints the loss and the number of samples of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=8)
    arguments = parser.parse_args()

    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    gpu = torch.cuda.is_available() and torch.cuda.device_count() > local_rank
    device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    if ranks > 1:
        dist.init_process_group("nccl" if gpu else "gloo")

    model: torch.nn.Module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(16, 10),
    ).to(device)  # fmt: skip
    if ranks > 1:
        model = DistributedDataParallel(model, device_ids=[local_rank] if gpu else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    pipeline = training_pipeline(arguments.folder, arguments.batch_size, rank, ranks, local_rank if gpu else None)
    # Every process takes as many steps; what the reader repeats to fill the last batch of a short shard counts, too.
    batches = DALIClassificationIterator(
        pipeline, reader_name="Reader", auto_reset=True, last_batch_policy=LastBatchPolicy.FILL
    )
    for epoch in range(arguments.epochs):
        seen = torch.zeros(1, device=device)
        for batch in batches:
            images, labels = batch[0]["data"], batch[0]["label"].reshape(-1).long().to(device)
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += len(images)
        if ranks > 1:
            dist.all_reduce(seen)
        if rank == 0:
            print(f"epoch {epoch}: {int(seen)} samples on {ranks} x {device.type}, loss {float(loss.detach()):.3f}")  # noqa: T201
    pipeline.close()
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
