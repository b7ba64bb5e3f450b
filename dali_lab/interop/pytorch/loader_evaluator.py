"""Times a loader, and what training would take if its data came for nothing."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class LoaderEvaluator:
    """Wraps a ``DataLoader``: times its batches, or gives batches kept in memory as often as it has batches.

    Comparing epochs of both modes tells how much of the time of training is waiting for data.

    Parameters
    ----------
    dataloader
        The loader: anything with a length that can be iterated.
    mode
        ``"log"`` takes batches from the loader; ``"replay"`` loads them once at construction and keeps the last ones.
        Other words mean ``"log"``.
    num_cached_batches
        Batches to keep for ``"replay"``.
    metrics_file
        Where :meth:`save_metrics` writes if it is not told.
    """

    def __init__(
        self, dataloader: Any, mode: str = "log", num_cached_batches: int = 20, metrics_file: str | None = None
    ) -> None:
        self.dataloader = dataloader
        self.mode = mode
        self.num_cached_batches = num_cached_batches
        self.metrics_file = metrics_file
        self.cached_batches: deque[Any] = deque(maxlen=num_cached_batches)
        self.batch_times: list[float] = []
        self.start_time: float | None = None
        self.end_time: float | None = None
        if mode == "replay":
            self.cached_batches.extend(dataloader)

    @property
    def cache_ready(self) -> bool:
        """Whether there are batches in memory."""
        return len(self.cached_batches) > 0

    def __len__(self) -> int:
        return len(self.dataloader)

    def __iter__(self) -> Iterator[Any]:
        """The batches of an epoch; each is timed.

        Raises
        ------
        RuntimeError
            In mode ``"replay"``, if the loader had no batch.
        """
        if self.mode == "replay" and not self.cache_ready:
            raise RuntimeError(
                "No cached batches available. This should not happen in replay mode as batches are cached during"
                " construction: the loader gave none then."
            )
        return self._timed(self._replayed() if self.mode == "replay" else iter(self.dataloader))

    def _replayed(self) -> Iterator[Any]:
        for index in range(len(self.dataloader)):
            yield self.cached_batches[index % len(self.cached_batches)]

    def _timed(self, batches: Iterator[Any]) -> Iterator[Any]:
        self.start_time, self.end_time, self.batch_times = time.time(), None, []
        while True:
            before = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                break
            self.batch_times.append(time.perf_counter() - before)
            yield batch
        self.end_time = time.time()

    def get_metrics(self) -> dict[str, Any]:
        """Times of the last epoch in seconds; an empty dictionary before the first batch.

        ``total_time`` is 0 for an epoch that was not finished.
        """
        times = self.batch_times
        if not times:
            return {}
        finished = self.start_time is not None and self.end_time is not None
        return {
            "mode": self.mode,
            "total_batches": len(times),
            "total_time": self.end_time - self.start_time if finished else 0,  # type: ignore[operator]
            "avg_batch_time": sum(times) / len(times),
            "min_batch_time": min(times),
            "max_batch_time": max(times),
            "batch_times": list(times),
            "cached_batches": len(self.cached_batches),
            "cache_ready": self.cache_ready,
        }

    def save_metrics(self, filename: str | None = None) -> None:
        """Write :meth:`get_metrics` as JSON to a file; without a name it only says so."""
        filename = filename or self.metrics_file
        if filename is None:
            print("No filename provided for saving metrics")  # noqa: T201
            return
        Path(filename).write_text(json.dumps(self.get_metrics(), indent=2), encoding="utf-8")
        print(f"Metrics saved to: {filename}")  # noqa: T201

    def print_summary(self) -> None:
        """Print the loader's size and the times of the last epoch."""
        lines = {
            "Mode": self.mode,
            "Dataset size": len(self.dataloader.dataset) if hasattr(self.dataloader, "dataset") else "unknown",
            "Number of batches": len(self.dataloader),
            "Cache size": f"{len(self.cached_batches)}/{self.num_cached_batches}",
            "Cache ready": self.cache_ready,
        }
        metrics = self.get_metrics()
        if metrics:
            lines["Total batches processed"] = metrics["total_batches"]
            lines["Total time"] = f"{metrics['total_time']:.2f}s"
            for name, key in (("Average", "avg"), ("Min", "min"), ("Max", "max")):
                lines[f"{name} batch time"] = f"{metrics[f'{key}_batch_time']:.4f}s"
        print("Loader Evaluator Summary:")  # noqa: T201
        for name, value in lines.items():
            print(f"  {name}: {value}")  # noqa: T201
