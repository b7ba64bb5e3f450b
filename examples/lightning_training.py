"""Trains a small network with Lightning, and goes on in mid-epoch from a checkpoint.

    python examples/lightning_training.py FOLDER [--epochs 2] [--resume CHECKPOINT]

FOLDER has one folder of pictures for each class. Lightning saves the state of a loader that has ``state_dict``, as
iterators over pipelines with checkpoints do; so nothing else is needed to go on with the next batch.
"""

from __future__ import annotations

import argparse
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

import dali_lab
from dali_lab import fn
from dali_lab.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy


class Batches(DALIClassificationIterator):
    """Batches of one pipeline as pairs of pictures and labels."""

    def __iter__(self) -> Batches:
        """Begin an epoch; Lightning has counted one whose last batch was taken, and asks for the next."""
        super().__iter__()
        if self.end_is_due:
            next(self, None)
        return self

    def __next__(self) -> tuple[torch.Tensor, torch.Tensor]:
        batch = super().__next__()[0]
        return batch["data"], batch["label"].reshape(-1).long()


class Pictures(lightning.LightningDataModule):
    """A folder of pictures, a share of it for each process.

    Parameters
    ----------
    folder
        It has one folder of pictures for each class.
    batch_size
        Pictures in a batch of one process.
    """

    def __init__(self, folder: str, batch_size: int = 8) -> None:
        super().__init__()
        self.folder = folder
        self.batch_size = batch_size

    def train_dataloader(self) -> Batches:
        """Batches of this process's shard, decoded, cut at random, mirrored and normalised."""
        rank, ranks = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        gpu = torch.cuda.is_available()
        device_id = self.trainer.local_rank if gpu and self.trainer else None
        pipeline = dali_lab.Pipeline(
            self.batch_size, num_threads=2, device_id=device_id, seed=1 + rank, enable_checkpointing=True
        )
        with pipeline:
            encoded, labels = fn.readers.file(
                file_root=self.folder, random_shuffle=True, shard_id=rank, num_shards=ranks, pad_last_batch=True,
                name="Reader",
            )  # fmt: skip
            images = fn.decoders.image_random_crop(encoded, device="mixed" if gpu else "cpu")
            images = fn.resize(images, size=(32, 32))
            images = fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), mean=[128.0] * 3, std=[64.0] * 3)
            pipeline.set_outputs(images, labels.gpu() if gpu else labels)
        # The reader's name tells the length of an epoch: with it Lightning takes no batch before it needs it.
        return Batches(pipeline, reader_name="Reader", auto_reset=True, last_batch_policy=LastBatchPolicy.PARTIAL)


class Classifier(lightning.LightningModule):
    """A small network."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 5, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
            torch.nn.Linear(16, classes),
        )  # fmt: skip

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], batch_idx: int) -> torch.Tensor:
        """The loss of a batch."""
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.network(images), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Plain gradient descent with momentum."""
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


def main(arguments: list[str] | None = None, **trainer: Any) -> None:
    """Train for some epochs; `trainer` are more arguments of Lightning's trainer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--save-every", type=int, default=100, help="steps between checkpoints")
    parser.add_argument("--resume", help="checkpoint to go on from")
    found = parser.parse_args(arguments)
    lightning.seed_everything(1)
    saving = ModelCheckpoint(every_n_train_steps=found.save_every, save_top_k=-1)
    settings: dict[str, Any] = {"logger": False, **trainer, "callbacks": [saving, *trainer.get("callbacks", [])]}
    lightning.Trainer(max_epochs=found.epochs, **settings).fit(
        Classifier(), datamodule=Pictures(found.folder), ckpt_path=found.resume
    )


if __name__ == "__main__":
    main()
