"""Figures of random draws, distributions of outputs, spectrograms and throughput, by Matplotlib.

Each function draws into `ax` where it is given, and gives back the axes (or the figure, where there are several).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.graph.recorder import DataNode
from dali_lab.model import extras
from dali_lab.model.errors import ArgumentError
from dali_lab.model.tensor_list import TensorList
from dali_lab.pipeline.pipeline import Pipeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["distributions", "draws", "spectrogram", "throughput"]

_MANY_ELEMENTS = 1 << 20
"""Elements of an output that go into a histogram; of more, evenly chosen ones."""


def draws(
    operator: Callable[[], DataNode], *, samples: int = 1000, seed: int = 42, bins: int = 40, ax: Axes | None = None
) -> Axes:
    """Histogram of the numbers that an operator draws.

    Parameters
    ----------
    operator
        Calls it, such as ``lambda: fn.random.uniform(range=(-15, 15))``.
    samples
        How many samples to draw.
    seed
        Of the pipeline that draws them.

    Raises
    ------
    ArgumentError
        If `samples` or `bins` is less than 1.
    """
    _at_least_one(samples=samples, bins=bins)
    pipe = Pipeline(batch_size=samples, num_threads=1, device_id=None, seed=seed)
    with pipe:
        pipe.set_outputs(operator())
    (output,) = pipe.run()
    values = _numbers([output])
    ax = _axes(ax)
    ax.hist(values, bins)
    ax.set(xlabel="value", ylabel="draws", title=f"mean {values.mean():.4g}, deviation {values.std():.4g}")
    return ax


def distributions(pipe: Pipeline, names: Sequence[str] | None = None, *, batches: int = 8, bins: int = 40) -> Figure:
    """Histograms of the elements of each output of a pipeline, side by side.

    Parameters
    ----------
    names
        A title for each output; by default their numbers.
    batches
        How many batches to run; fewer where an epoch ends before.

    Raises
    ------
    ArgumentError
        If there are not as many names as outputs, or `batches` or `bins` is less than 1.
    """
    _at_least_one(batches=batches, bins=bins)
    found: list[Sequence[TensorList]] = []
    for _ in range(batches):
        try:
            found.append([output.as_cpu() for output in pipe.run()])
        except StopIteration:
            pipe.reset()
            break
    outputs = list(zip(*found, strict=True))
    if names is not None and len(names) != len(outputs):
        raise ArgumentError(f"takes {len(outputs)} titles, got {len(names)}", argument="names")
    figure: Figure
    figure, panels = _pyplot().subplots(
        1, len(outputs), figsize=(4 * len(outputs), 3), squeeze=False, layout="constrained"
    )
    for index, (panel, output) in enumerate(zip(panels[0], outputs, strict=True)):
        values = _numbers(output)
        panel.hist(values, bins)
        panel.set(
            xlabel="value", ylabel="elements",
            title=f"{names[index] if names else f'output {index}'}: mean {values.mean():.4g}",
        )  # fmt: skip
    return figure


def spectrogram(
    values: npt.ArrayLike,
    *,
    sample_rate: float,
    window_step: int,
    freq_range: tuple[float, float] | None = None,
    mel: bool = False,
    label: str = "dB",
    ax: Axes | None = None,
) -> Axes:
    """A spectrogram over seconds and hertz.

    Parameters
    ----------
    values
        ``[bins, windows]``, as ``fn.spectrogram``, ``fn.mel_filter_bank`` and ``fn.to_decibels`` give them.
    sample_rate
        Samples a second of the sound.
    window_step
        Samples from one window to the next.
    freq_range
        Lowest and highest frequency in hertz; by default 0 and half of `sample_rate`.
    mel
        Whether the bins are mel bands, which the ticks then take account of.
    label
        Of the colour bar.

    Raises
    ------
    ArgumentError
        If the values have not two dimensions, or a rate or step is not positive.
    """
    data = np.asarray(values)
    if data.ndim != 2:
        raise ArgumentError(f"takes bins and windows, got the shape {list(data.shape)}", argument="values")
    for name, value in (("sample_rate", sample_rate), ("window_step", window_step)):
        if value <= 0:
            raise ArgumentError(f"must be positive, got {value}", argument=name)
    low, high = freq_range or (0.0, sample_rate / 2)
    ax = _axes(ax)
    seconds = data.shape[1] * window_step / sample_rate
    bounds = (_mel(low), _mel(high)) if mel else (low, high)
    image = ax.imshow(data, origin="lower", aspect="auto", extent=(0, seconds, *bounds))
    if mel:
        ticks = np.array([hertz for hertz in (0, 250, 500, 1000, 2000, 4000, 8000, 16000) if low <= hertz <= high])
        ax.set_yticks([_mel(hertz) for hertz in ticks], [str(hertz) for hertz in ticks])
    ax.set(xlabel="seconds", ylabel="hertz")
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def throughput(pipelines: Mapping[str, Pipeline], *, seconds: float = 2.0, ax: Axes | None = None) -> Axes:
    """Bars of the samples a second that pipelines make, measured one after the other in this process.

    Each runs one batch before it is measured. Figures of different machines, or of one that is busy, say little about
    each other.

    Raises
    ------
    ArgumentError
        If there is no pipeline, or `seconds` is not positive.
    """
    if not pipelines:
        raise ArgumentError("takes at least one pipeline", argument="pipelines")
    if seconds <= 0:
        raise ArgumentError(f"must be positive, got {seconds}", argument="seconds")
    rates = {name: _rate(pipe, seconds) for name, pipe in pipelines.items()}
    ax = _axes(ax)
    bars = ax.barh(list(rates), list(rates.values()))
    ax.bar_label(bars, [f"{rate:,.0f}" for rate in rates.values()], padding=3)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set(xlabel="samples a second")
    return ax


def _rate(pipe: Pipeline, seconds: float) -> float:
    def batch() -> int:
        try:
            return len(pipe.run()[0])
        except StopIteration:
            pipe.reset()
            return len(pipe.run()[0])

    batch()
    done, begun = 0, time.perf_counter()
    while (spent := time.perf_counter() - begun) < seconds or not done:
        done += batch()
    return done / spent if spent else float(done)


def _numbers(outputs: Sequence[TensorList]) -> npt.NDArray[Any]:
    """Elements of all samples, one after the other."""
    parts = [np.asarray(sample).reshape(-1) for output in outputs for sample in output.as_cpu()]
    values = np.concatenate(parts) if parts else np.zeros(0)
    step = max(1, -(-len(values) // _MANY_ELEMENTS))
    return values[::step].astype(np.float64)


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def _at_least_one(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ArgumentError(f"must be at least 1, got {count}", argument=name)


def _axes(ax: Axes | None) -> Axes:
    return _pyplot().subplots(layout="constrained")[1] if ax is None else ax


def _pyplot() -> Any:
    extras.require("plot", ("matplotlib",), "dali_lab.plot")
    import matplotlib.pyplot as plt

    return plt
