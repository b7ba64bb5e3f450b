"""Figures: the numbers that are drawn, the words on the axes, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from dali_lab import fn, pipeline_def, plot, types  # noqa: E402
from dali_lab.errors import DaliLabError  # noqa: E402


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    yield
    pyplot.close("all")


@pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=1)
def numbers() -> Any:
    return fn.random.uniform(range=(2.0, 3.0)), fn.constant(idata=[7] * 6, shape=[2, 3], dtype=types.INT32)


def counted(ax: Any) -> int:
    return round(sum(bar.get_height() for bar in ax.patches))


def test_draws() -> None:
    ax = plot.draws(lambda: fn.random.uniform(range=(2.0, 3.0)), samples=500)
    assert counted(ax) == 500
    assert 2 <= ax.patches[0].get_x() < 2.1
    assert ax.get_xlabel() == "value" and ax.get_title().startswith("mean 2.")


def test_distributions() -> None:
    figure = plot.distributions(numbers(), ["drawn", "sevens"], batches=3)
    assert [counted(ax) for ax in figure.axes] == [12, 72]
    assert figure.axes[1].get_title() == "sevens: mean 7"


@pytest.mark.parametrize("mel", [False, True])
def test_spectrogram_has_seconds_and_hertz(mel: bool) -> None:
    ax = plot.spectrogram(np.zeros((80, 200)), sample_rate=16000, window_step=160, mel=mel)
    left, right, low, high = ax.images[0].get_extent()
    assert (left, right, low) == (0, 2, 0)
    assert high == pytest.approx(2840.0 if mel else 8000, abs=0.1)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("seconds", "hertz")
    if mel:
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "250", "500", "1000", "2000", "4000", "8000"]


def test_throughput() -> None:
    ax = plot.throughput({"one": numbers(), "two": numbers()}, seconds=0.01)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["one", "two"]
    assert all(bar.get_width() > 0 for bar in ax.patches)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plot.draws(fn.random.uniform, samples=0), ("samples", "0")),
        (lambda: plot.distributions(numbers(), ["one"]), ("names", "2", "1")),
        (lambda: plot.spectrogram(np.zeros(3), sample_rate=1, window_step=1), ("values", "[3]")),
        (lambda: plot.spectrogram(np.zeros((3, 3)), sample_rate=0, window_step=1), ("sample_rate", "0")),
        (lambda: plot.throughput({}), ("pipelines",)),
    ],
)
def test_what_is_refused(call: Callable[[], object], words: tuple[str, ...]) -> None:
    with pytest.raises(DaliLabError) as caught:
        call()
    assert all(word in str(caught.value) for word in words)
