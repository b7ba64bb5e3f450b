"""A progress bar, and runs that show one."""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dali_lab.pipeline.pipeline import Pipeline
    from dali_lab.studio.protocol.previews import Measured

_SHOWN = 10


def measured(pipeline: Pipeline, batches: int | None, seconds: float, *, summarize: bool) -> Measured:
    """Run a pipeline for a number of batches or a time, with a progress bar."""
    from dali_lab.studio.measuring import measure

    bar = Bar()
    try:
        pipeline.build()
        bar.show(0.0, "starting")
        if summarize:
            first = pipeline.run()
            bar.clear()
            for index, output in enumerate(first):
                print(f"output {index}: {summary_line(output)}", flush=True)
            gc.freeze()
            gc.enable()
        began: float | None = None

        def tell(done: int, rate: float) -> bool:
            nonlocal began
            began = time.perf_counter() if began is None else began
            spent = time.perf_counter() - began
            share = done / batches if batches is not None else spent / seconds
            bar.show(share, f"{rate:,.0f} images/s")
            return batches is None and spent >= seconds

        return measure(pipeline, batches, tell, at_once=True)
    finally:
        bar.clear()
        pipeline.close()


def print_rate(result: Measured) -> None:
    """A line about the run and its speed."""
    print(
        f"{result.samples:,} samples in {result.batches:,} batches, {result.seconds:.2f} s:"
        f" {result.images_per_second:,.0f} images/s"
    )


def print_bad_samples(pipeline: Pipeline) -> None:
    """The bad samples that a pipeline met, the first ones in full."""
    found = pipeline.bad_samples
    if not found:
        return
    print(f"{len(found):,} bad {'sample' if len(found) == 1 else 'samples'}:")
    for record in found[:_SHOWN]:
        print(f"  {record}")
    if len(found) > _SHOWN:
        print(f"  and {len(found) - _SHOWN:,} more")


def summary_line(output: Any) -> str:
    """A batch in a line: samples, shape, type, layout and range."""
    batch = output._batch
    from dali_lab.studio.preview.summaries import value_range

    shapes = [tuple(row) for row in batch.shapes.tolist()]
    if not shapes:
        return "empty"
    text = "×".join(map(str, shapes[0])) or "scalar"
    if any(shape != shapes[0] for shape in shapes):
        low, high = batch.shapes.min(axis=0), batch.shapes.max(axis=0)
        text = "×".join(str(a) if a == b else f"{a}–{b}" for a, b in zip(low.tolist(), high.tolist(), strict=True))
    found = value_range(batch.arrays())
    parts = [f"{len(shapes)} × {text}", batch.dtype.name, batch.layout or "no layout"]
    if found is not None:
        parts.append(f"from {found[0]:g} to {found[1]:g}")
    return ", ".join(parts)


def time_text(seconds: float) -> str:
    """A time in words, such as ``3 min 20 s``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02d} s" if whole < 3600 else f"{whole // 3600} h {whole // 60 % 60:02d} min"


class Bar:
    """A progress bar on the terminal; nothing is written where there is no terminal."""

    WIDTH = 28

    def __init__(self) -> None:
        self._active = sys.stderr.isatty()
        self._last = 0.0

    def show(self, share: float, text: str) -> None:
        """Draw it, not more than ten times a second."""
        now = time.monotonic()
        if not self._active or now - self._last < 0.1:
            return
        self._last = now
        done = round(max(0.0, min(1.0, share)) * self.WIDTH)
        print(f"\r[{'█' * done}{'·' * (self.WIDTH - done)}] {text}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take it away."""
        if self._active and self._last:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._last = 0.0
