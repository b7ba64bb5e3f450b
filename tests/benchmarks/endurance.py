"""A long training run on files of which 1 % are damaged, killed again and again, and its report.

Run it with ``python -m tests.benchmarks.endurance [--minutes 60] [--kill-every 300]``. Two processes train with the
program that the graph is exported to: one without interruption, one that is killed (SIGKILL) every few minutes and goes
on from its last checkpoint. Both note each batch and each loss, which have to be the same, and their memory, which has
to be flat. ``--train`` is the process itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

BATCH = 16
CHECKPOINT_EVERY = 200
READ_MEMORY_EVERY = 100


def make_files(root: Path, share: float) -> int:
    """Copy small pictures, and damage a share of them in turn by each of three kinds; returns how many."""
    from tests.benchmarks.data import folder

    shutil.copytree(folder("jpeg64"), root)
    paths = sorted(root.glob("*/*.jpg"))
    damaged = paths[:: round(1 / share)]
    for index, path in enumerate(damaged):
        data = path.read_bytes()
        path.write_bytes([b"", b"no picture at all", data[: len(data) // 2]][index % 3])
    return len(damaged)


def export(root: Path, target: Path) -> None:
    """Write the training graph as a PyTorch program."""
    import dali_lab
    from dali_lab import fn, formats

    @dali_lab.pipeline_def(
        batch_size=BATCH, num_threads=1, seed=7, on_error="replace", max_error_rate=0.1, enable_checkpointing=True
    )
    def training() -> Any:
        encoded, labels = fn.readers.file(file_root=str(root), random_shuffle=True, name="Reader")
        images = fn.resize(fn.decoders.image_random_crop(encoded), size=(32, 32))
        images = fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), mean=[128.0] * 3, std=[64.0] * 3)
        return images, labels

    target.write_bytes(formats.dumps(training().graph, "pytorch"))


def train(folder: Path, batches: int, rate: float) -> None:
    """Train up to a number of batches, at most `rate` in a second, from the last checkpoint in the folder."""
    import runpy

    import torch

    from dali_lab.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
    from tests.benchmarks.memory import resident

    torch.set_num_threads(1)
    torch.manual_seed(1)
    program = runpy.run_path(str(folder / "program.py"))
    iterator = DALIGenericIterator(
        [program["pipeline"]()], ["images", "labels"], reader_name="Reader",
        last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True,
    )  # fmt: skip
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(8, 2),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    number = 0
    saved = folder / "checkpoint.pt"
    if saved.exists():
        found = torch.load(saved, weights_only=True)
        number = found["batches"]
        iterator.load_state_dict(found["iterator"])
        model.load_state_dict(found["model"])
        optimizer.load_state_dict(found["optimizer"])
    began, first = time.monotonic(), number
    with open(folder / "log", "a", buffering=1) as log:
        while number < batches:
            for batch in iterator:
                images, labels = batch[0]["images"], batch[0]["labels"].reshape(-1).long()
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                content = zlib.crc32(labels.numpy().tobytes(), zlib.crc32(images.numpy().tobytes()))
                entry = {"batch": number, "content": content, "loss": loss.item().hex()}
                number += 1
                if number % READ_MEMORY_EVERY == 0:
                    entry |= {"memory": resident(), "bad": iterator._pipes[0]._built().bad_samples.total}
                print(json.dumps(entry), file=log)
                if number % CHECKPOINT_EVERY == 0:
                    state = {
                        "batches": number, "iterator": iterator.state_dict(), "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                    }  # fmt: skip
                    torch.save(state, saved.with_suffix(".new"))
                    saved.with_suffix(".new").replace(saved)
                if number == batches:
                    break
                time.sleep(max(0.0, began + (number - first) / rate - time.monotonic()))


@dataclass
class Trainer:
    """A training process, and the lives that it has had."""

    folder: Path
    batches: int
    rate: float
    lives: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin, or go on after a kill."""
        self.lives += 1
        command = [
            sys.executable, "-m", "tests.benchmarks.endurance", "--train", str(self.folder), "--batches",
            str(self.batches), "--rate", str(self.rate),
        ]  # fmt: skip
        with open(self.folder / "errors", "ab") as errors:
            self.process = subprocess.Popen(command, stderr=errors, env={**os.environ, "OMP_NUM_THREADS": "1"})

    @property
    def running(self) -> bool:
        """Whether it trains."""
        assert self.process is not None
        return self.process.poll() is None

    def kill(self) -> None:
        """End it without a warning."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def entries(self) -> list[dict[str, Any]]:
        """Its log; a line that was being written when it was killed is left out."""
        lines = (self.folder / "log").read_text().split("\n")
        return [json.loads(line) for line in lines if line.endswith("}")]


def main() -> None:
    """Run both, compare them, and print a report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kill-every", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=10, help="batches in a second")
    parser.add_argument("--bad", type=float, default=0.01, help="share of damaged files")
    parser.add_argument("--batches", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train is not None:
        train(arguments.train, arguments.batches, arguments.rate)
        return
    with tempfile.TemporaryDirectory() as name:
        print(report(Path(name), arguments))


def report(root: Path, arguments: argparse.Namespace) -> str:
    """Run both trainings and describe them."""
    damaged = make_files(root / "files", arguments.bad)
    batches = round(arguments.minutes * 60 * arguments.rate)
    trainers = [Trainer(root / name, batches, arguments.rate) for name in ("whole", "killed")]
    for trainer in trainers:
        trainer.folder.mkdir()
        export(root / "files", trainer.folder / "program.py")
        trainer.start()
    whole, killed = trainers
    began = last = time.monotonic()
    while whole.running or killed.running:
        time.sleep(1)
        if killed.running and time.monotonic() - last >= arguments.kill_every:
            killed.kill()
            killed.start()
            last = time.monotonic()
    for trainer in trainers:
        assert trainer.process is not None
        if trainer.process.returncode:
            raise SystemExit((trainer.folder / "errors").read_text()[-4000:])
    minutes = (time.monotonic() - began) / 60
    wanted = {entry["batch"]: (entry["content"], entry["loss"]) for entry in whole.entries()}
    seen = killed.entries()
    different = [entry["batch"] for entry in seen if wanted.get(entry["batch"]) != (entry["content"], entry["loss"])]
    missing = set(wanted) - {entry["batch"] for entry in seen}
    memory = [entry["memory"] for entry in whole.entries() if "memory" in entry]
    bounds = [len(memory) * tenth // 10 for tenth in range(11)]
    tenths = [statistics.median(memory[start:stop]) for start, stop in itertools.pairwise(bounds) if start < stop]
    highest = max(entry["memory"] for entry in seen if "memory" in entry)
    bad = [next(entry["bad"] for entry in reversed(trainer.entries()) if "bad" in entry) for trainer in trainers]
    return "\n".join(
        [
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {minutes:.0f} minutes, {os.cpu_count()} cores,"
            f" load {os.getloadavg()[1]:.1f} at the end",
            f"{len(wanted):,} batches of {BATCH}, {damaged} of 2,048 files damaged;"
            f" {killed.lives - 1} kills, {len(seen) - len(wanted):,} batches computed again after them",
            f"batches or losses that differ from those of the run without kills: {len(different)};"
            f" missing: {len(missing)}",
            f"bad samples replaced: {bad[0]:,} without kills, {bad[1]:,} with them",
            "memory of the run without kills, median of each tenth in MiB: " + ", ".join(f"{x:.1f}" for x in tenths),
            f"largest memory of the run with kills: {highest:.1f} MiB",
        ]
    )


if __name__ == "__main__":
    main()
