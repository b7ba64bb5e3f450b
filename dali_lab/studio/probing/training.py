"""A small network, its training and its accuracy, with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dali_lab.graph.graph import Graph
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import find_operator
from dali_lab.studio.errors import DocumentError

if TYPE_CHECKING:
    import torch

BATCH = 32
_RATE = 3e-3
_MOST_BROKEN = 0.5


class Batch(NamedTuple):
    """Pictures ``[N, 3, side, side]`` and their labels."""

    pictures: torch.Tensor
    labels: torch.Tensor


class Pictures:
    """The pictures of a graph at one size, epoch after epoch.

    Without chance in the graph they are computed once.

    Parameters
    ----------
    graph
        Gives pictures and labels.
    side
        Height and width that they are brought to.
    count
        Samples of an epoch.
    """

    def __init__(self, graph: Graph, side: int, count: int, seed: int, watch: Callable[[], None]) -> None:
        self._side = side
        self._count = count
        self._watch = watch
        self._fixed = not any(find_operator(node.op).random for node in graph.nodes.values())
        self._kept: Batch | None = None
        # A damaged file is no reason against a probe; where most are damaged, the error names the first ones.
        self._pipeline = Pipeline.from_graph(graph, seed=seed, on_error="replace", max_error_rate=_MOST_BROKEN)
        self._numbers = np.random.default_rng(seed)

    def close(self) -> None:
        """End the pipeline."""
        self._pipeline.close()

    @property
    def broken(self) -> set[str]:
        """Files that failed; another picture with its label stands in the place of each."""
        return {bad.file for bad in self._pipeline.bad_samples if bad.file is not None}

    def whole(self) -> Batch:
        """All samples of an epoch."""
        import torch

        if self._kept is None or not self._fixed:
            found = list(self._run())
            self._kept = Batch(torch.cat([each.pictures for each in found]), torch.cat([each.labels for each in found]))
        return self._kept

    def epoch(self) -> Iterator[Batch]:
        """Batches of an epoch in random order."""
        import torch

        pictures, labels = self.whole()
        order = torch.from_numpy(self._numbers.permutation(len(labels)))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            if len(chosen) > 1 or len(order) == 1:
                yield Batch(pictures[chosen], labels[chosen])

    def _run(self) -> Iterator[Batch]:
        import torch

        left = self._count
        while left > 0:
            self._watch()
            pictures, labels = (output.as_cpu() for output in self._pipeline.run())
            count = min(left, len(labels))
            made = [self._picture(np.asarray(pictures.at(at)), pictures.layout()) for at in range(count)]
            numbers = [int(np.asarray(labels.at(at)).reshape(-1)[0]) for at in range(count)]
            left -= count
            yield Batch(torch.stack(made), torch.tensor(numbers))

    def _picture(self, array: np.ndarray, layout: str) -> torch.Tensor:
        import torch

        if array.ndim != 3 or "H" not in layout:
            raise DocumentError("A probe trains on pictures: choose a node that gives pictures.", "unsuitable")
        picture = torch.from_numpy(np.ascontiguousarray(array, np.float32))
        picture = picture.permute(2, 0, 1) if layout.endswith("C") else picture
        picture = picture.expand(3, -1, -1) if picture.shape[0] == 1 else picture[:3]
        size = (self._side, self._side)
        return torch.nn.functional.interpolate(picture[None], size, mode="bilinear", antialias=True)[0]


def network(classes: int) -> torch.nn.Module:
    """Three convolutions and one linear layer, about 25,000 weights."""
    from torch import nn

    layers: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers[:-1], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


def train(
    training: Pictures, measured: Batch, classes: int, seed: int, epochs: int, watch: Callable[[], None]
) -> Iterator[float]:
    """The share of right answers on `measured` after each epoch."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = network(classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=1e-3)
    scale = _Scale(measured.pictures)
    for _ in range(epochs):
        model.train()
        for pictures, labels in _watched(training.epoch(), watch):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(scale(pictures)), labels)
            torch.autograd.backward(loss)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = [
                (model(scale(measured.pictures[at : at + 256])).argmax(1) == measured.labels[at : at + 256]).sum()
                for at in range(0, len(measured.labels), 256)
            ]
        yield float(sum(map(int, right)) / len(measured.labels))


def _watched(batches: Iterable[Batch], watch: Callable[[], None]) -> Iterator[Batch]:
    for batch in batches:
        watch()
        yield batch


class _Scale:
    """Brings each channel to mean 0 and deviation 1, as measured on pictures that nothing is done to by chance."""

    def __init__(self, pictures: torch.Tensor) -> None:
        self._mean = pictures.mean((0, 2, 3), keepdim=True)
        self._deviation = pictures.std((0, 2, 3), keepdim=True).clamp_min(1e-3)

    def __call__(self, pictures: torch.Tensor) -> torch.Tensor:
        return (pictures - self._mean) / self._deviation
