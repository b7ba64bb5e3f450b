"""The training pipeline as others run it: torchvision's and albumentations' transforms in a DataLoader."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.benchmarks.pipelines import MEAN, STD

Step = Callable[[], Any]


def torchvision_loader(root: Path, batch_size: int, workers: int) -> Step:
    """Pictures decoded by Pillow, transforms v2 on uint8 tensors, as torchvision recommends."""
    v2 = import_torchvision()
    import torch
    from torchvision.datasets import ImageFolder

    transform = v2.Compose(
        [
            v2.PILToTensor(),
            v2.RandomResizedCrop(224, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32),
            v2.Normalize(MEAN, STD),
        ]
    )
    return _batches(ImageFolder(str(root), transform), batch_size, workers)


def albumentations_loader(root: Path, batch_size: int, workers: int) -> Step:
    """Pictures decoded by OpenCV, transformed as NumPy arrays."""
    import albumentations
    import cv2
    import torch
    from albumentations.pytorch import ToTensorV2

    transform = albumentations.Compose(
        [
            albumentations.RandomResizedCrop(size=(224, 224), interpolation=cv2.INTER_LINEAR),
            albumentations.HorizontalFlip(),
            albumentations.Normalize(mean=[value / 255 for value in MEAN], std=[value / 255 for value in STD]),
            ToTensorV2(),
        ]
    )
    paths = sorted(root.glob("*/*.jpg"))

    class Pictures(torch.utils.data.Dataset[Any]):
        def __init__(self) -> None:
            cv2.setNumThreads(0)

        def __len__(self) -> int:
            return len(paths)

        def __getitem__(self, index: int) -> Any:
            image = cv2.cvtColor(cv2.imread(str(paths[index])), cv2.COLOR_BGR2RGB)
            return transform(image=image)["image"], int(paths[index].parent.name)

    return _batches(Pictures(), batch_size, workers)


_LIBRARIES: list[Any] = []
"""Definitions of operators last as long as the library that made them."""
LOADERS: dict[str, Callable[[Path, int, int], Step]] = {
    "torchvision": torchvision_loader,
    "albumentations": albumentations_loader,
}


def missing(name: str) -> str:
    """Why a loader cannot run here; empty if it can."""
    try:
        if name == "torchvision":
            import_torchvision()
        else:
            __import__(name)
            __import__("torch")
    except Exception as error:  # whatever a broken installation raises is the answer
        return f"{type(error).__name__}: {error}"
    return ""


@cache
def import_torchvision() -> Any:
    """``torchvision.transforms.v2``, also where torchvision's compiled operators do not fit the installed torch.

    The transforms need none of them, but its import registers them all. Where they cannot be loaded (a wheel built for
    a GPU beside torch for the CPU), their names are defined first.
    """
    import importlib.util
    import re

    import torch

    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'torchvision'")
    try:
        torch.ops.load_library(str(next(Path(found.origin).parent.glob("_C*.so"))))
    except (OSError, StopIteration):
        text = Path(found.origin).with_name("_meta_registrations.py").read_text()
        names = re.findall(r"register_(?:meta|fake)\(\"(?:torchvision::)?(\w+)\"", text)
        library = torch.library.Library("torchvision", "DEF")
        for name in dict.fromkeys(names):
            library.define(f"{name}(Tensor x) -> Tensor")
        _LIBRARIES.append(library)
    from torchvision.transforms import v2

    return v2


def _batches(dataset: Any, batch_size: int, workers: int) -> Step:
    """A function that returns the next batch, epoch after epoch."""
    import torch

    torch.set_num_threads(1)
    # With replacement, so that the ends of short epochs are no part of the measurement.
    sampler = torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=1 << 30)
    batches = iter(torch.utils.data.DataLoader(dataset, batch_size, sampler=sampler, num_workers=workers))
    return lambda: next(batches)
