"""torchvision's transforms on pipelines, compared with torchvision's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import dali_lab.experimental.torchvision as dv
import dali_lab.experimental.torchvision.v2.functional as functional
from dali_lab import private_names
from tests.benchmarks.loaders import import_torchvision
from tests.together import with_each


class _Torchvision:
    """torchvision's transforms, imported for the first test: that takes seconds."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)  # pytest asks, while it collects
        return getattr(import_torchvision(), name)


tv = _Torchvision()

Images = dict[str, Any]


@pytest.fixture(scope="module")
def images() -> Images:
    """Smooth pictures of odd sizes, as Pillow's and as tensors."""
    rows, columns = np.mgrid[0:41, 0:60]
    pixels = np.stack([rows * 6, columns * 4, 255 - rows * 3 - columns * 2], axis=-1).clip(0, 255).astype(np.uint8)
    tensor = torch.from_numpy(pixels.transpose(2, 0, 1).copy())
    return {
        "RGB": Image.fromarray(pixels),
        "L": Image.fromarray(pixels[..., 0].copy()),
        "RGBA": Image.fromarray(np.concatenate([pixels, pixels[..., :1] | 1], axis=-1)),
        "tensor": tensor,
        "batch": torch.stack([tensor, tensor.flip(2)]),
        "floats": tensor / 255,
    }


def difference(got: Any, wanted: Any) -> float:
    """The largest difference in levels of 255."""
    if isinstance(wanted, Image.Image):
        assert got.mode == wanted.mode
        got, wanted = (tv.functional.pil_to_tensor(image) for image in (got, wanted))
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    scale = 255 if wanted.dtype.is_floating_point else 1
    return float((got.double() - wanted.double()).abs().max()) * scale


F = functional
EVERYWHERE = ("RGB", "L", "RGBA", "tensor", "batch", "floats")
TENSORS = ("tensor", "batch", "floats")
NOT_BLENDED = ("RGB", "L", *TENSORS)  # Pillow weighs colours by their alpha
CASES: dict[str, tuple[list[Any], Callable[[], Any], Callable[[Any], Any] | None, float, tuple[str, ...]]] = {
    "resize": ([dv.Resize(22)], lambda: tv.Resize(22), lambda x: F.resize(x, 22), 1, NOT_BLENDED),
    "resize bounded": (
        [dv.Resize(30, max_size=33)],
        lambda: tv.Resize(30, max_size=33),
        lambda x: F.resize(x, 30, max_size=33),
        1,
        NOT_BLENDED,
    ),
    "resize longer edge": (
        [dv.Resize(None, max_size=77)],
        lambda: tv.Resize(None, max_size=77),
        lambda x: F.resize(x, None, max_size=77),
        1,
        NOT_BLENDED,
    ),
    "center crop": (
        [dv.CenterCrop([18, 9])],
        lambda: tv.CenterCrop([18, 9]),
        lambda x: F.center_crop(x, [18, 9]),
        0,
        EVERYWHERE,
    ),
    "center crop with border": (
        [dv.CenterCrop(50)],
        lambda: tv.CenterCrop(50),
        lambda x: F.center_crop(x, 50),
        0,
        EVERYWHERE,
    ),
    "pad": (
        [dv.Pad([1, 2, 3, 4], 7)],
        lambda: tv.Pad([1, 2, 3, 4], 7),
        lambda x: F.pad(x, [1, 2, 3, 4], 7),
        0,
        ("L", *TENSORS),
    ),
    **{
        f"pad {mode}": (
            [dv.Pad([2, 5], padding_mode=mode)],  # type: ignore[arg-type]
            lambda mode=mode: tv.Pad([2, 5], padding_mode=mode),
            lambda x, mode=mode: F.pad(x, [2, 5], padding_mode=mode),
            0,
            ("RGBA", *TENSORS),
        )
        for mode in ("edge", "reflect", "symmetric")
    },
    "blur": (
        [dv.GaussianBlur([3, 7], 1.5)],
        lambda: tv.GaussianBlur([3, 7], (1.5, 1.5)),
        lambda x: F.gaussian_blur(x, [3, 7], 1.5),
        1,
        EVERYWHERE,
    ),
    "gray": ([dv.Grayscale()], lambda: tv.Grayscale(), F.to_grayscale, 1, EVERYWHERE[:3] + TENSORS),
    "gray of three channels": (
        [dv.Grayscale(3)],
        lambda: tv.Grayscale(3),
        lambda x: F.rgb_to_grayscale(x, 3),
        1,
        ("RGB", "L", *TENSORS),
    ),
    "random gray": ([dv.RandomGrayscale(1.0)], lambda: tv.RandomGrayscale(1.0), None, 1, ("RGB", "L", *TENSORS)),
    "normalize": (
        [dv.Normalize([0.4, 0.5, 0.3], [0.2, 0.3, 0.25])],
        lambda: tv.Normalize([0.4, 0.5, 0.3], [0.2, 0.3, 0.25]),
        lambda x: F.normalize(x, [0.4, 0.5, 0.3], [0.2, 0.3, 0.25]),
        0.001,
        ("floats",),
    ),
    "brightness": (
        [dv.ColorJitter(brightness=(1.4, 1.4))],
        lambda: tv.ColorJitter(brightness=(1.4, 1.4)),
        None,
        1,
        ("RGB", "L", *TENSORS),
    ),
    "contrast": (
        [dv.ColorJitter(contrast=(0.5, 0.5))],
        lambda: tv.ColorJitter(contrast=(0.5, 0.5)),
        None,
        1,
        ("RGB", "L", "RGBA", *TENSORS),
    ),
    "saturation": (
        [dv.ColorJitter(saturation=(1.6, 1.6))],
        lambda: tv.ColorJitter(saturation=(1.6, 1.6)),
        None,
        2,
        ("RGB", "L", *TENSORS),
    ),
    "flips": (
        [dv.RandomHorizontalFlip(1.0), dv.RandomVerticalFlip(1)],
        lambda: tv.Compose([tv.RandomHorizontalFlip(1.0), tv.RandomVerticalFlip(1.0)]),
        lambda x: F.horizontal_flip(F.vertical_flip(x)),
        0,
        EVERYWHERE,
    ),
    "conditional steps": (
        [dv.RandomApply([dv.CenterCrop(20)], 1.0), dv.RandomApply([dv.Resize(9)], 0)],
        lambda: tv.CenterCrop(20),
        None,
        0,
        ("RGB", "batch"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_results_are_torchvisions(case: str, images: Images) -> None:
    transforms, theirs, function, bound, kinds = CASES[case]
    reference = theirs()
    composed = {True: dv.Compose(transforms, batch_size=2), False: dv.Compose(transforms, batch_size=2)}
    for kind in kinds:
        image = images[kind]
        wanted = reference(image)
        assert difference(composed[isinstance(image, Image.Image)](image), wanted) <= bound, kind
        if function is not None:
            assert difference(function(image), wanted) <= bound, kind


def test_crops_at_given_places(images: Images) -> None:
    box = (-3, 50, 20, 30)
    for kind in ("RGB", "tensor", "batch"):
        assert difference(F.crop(images[kind], *box), tv.functional.crop(images[kind], *box)) == 0
        wanted = tv.functional.resized_crop(images[kind], *box, [30, 44])
        assert difference(F.resized_crop(images[kind], *box, [30, 44]), wanted) <= 1
    assert F.crop(images["RGB"], 0.4, 1.6, 2.2, 3).size == (3, 3), "corners of pictures are rounded"
    with pytest.raises(TypeError, match="top must be an integer"):
        F.crop(images["tensor"], 0.4, 1, 2, 3)


def test_random_crops_are_windows_of_the_padded_image() -> None:
    places = torch.arange(1, 1 + 6 * 7, dtype=torch.int32).reshape(1, 6, 7)
    batch = places.repeat(64, 1, 1, 1)
    crops = dv.Compose([dv.RandomCrop(4, padding=1)], batch_size=64, seed=1)(batch)
    padded = torch.nn.functional.pad(places, (1, 1, 1, 1))[0]
    windows = {tuple(padded[y : y + 4, x : x + 4].flatten().tolist()) for y in range(5) for x in range(6)}
    found = {tuple(crop.flatten().tolist()) for crop in crops}
    assert found <= windows and len(found) > 15
    larger = dv.Compose([dv.RandomCrop(9, pad_if_needed=True, padding_mode="edge")], batch_size=64, seed=1)(batch)
    assert larger.shape == (64, 1, 9, 9) and larger.min() == 1
    parts = dv.Compose([dv.RandomResizedCrop(5, scale=(0.2, 0.5), interpolation=0)], batch_size=64, seed=1)(
        batch.float()
    )
    assert parts.shape == (64, 1, 5, 5) and len({tuple(part.flatten().tolist()) for part in parts}) > 30


def test_markers_choose_the_kind_of_result(images: Images) -> None:
    flip = dv.RandomHorizontalFlip(1.0)
    tensor = dv.Compose([flip, dv.PILToTensor()])(images["RGB"])
    assert torch.equal(tensor, images["tensor"].flip(2))
    picture = dv.Compose([flip, dv.ToPILImage()])(images["tensor"])
    assert picture.mode == "RGB" and difference(picture, images["RGB"].transpose(Image.Transpose.FLIP_LEFT_RIGHT)) == 0
    assert [image.size for image in dv.Compose([dv.ToPILImage()])(images["batch"])] == [(60, 41)] * 2
    for kind in ("RGB", "L", "RGBA"):
        assert torch.equal(F.to_tensor(images[kind]), tv.functional.to_image(images[kind]) / 255)
        assert torch.equal(F.pil_to_tensor(images[kind]), tv.functional.pil_to_tensor(images[kind]))
        assert F.to_pil_image(F.to_tensor(images[kind])).mode == kind
        for name in ("get_size", "get_dimensions", "get_image_size"):
            assert getattr(F, name)(images[kind]) == getattr(tv.functional, name)(images[kind])


def test_sequences_take_one_draw(images: Images) -> None:
    frames = images["tensor"].repeat(8, 4, 1, 1, 1)
    flipped = dv.Compose([dv.RandomHorizontalFlip(), dv.CenterCrop(20)], seed=4, batch_size=8)(frames)
    assert flipped.shape == (8, 4, 3, 20, 20)
    assert all(torch.equal(sequence[0], frame) for sequence in flipped for frame in sequence)
    assert len({sequence[0, 1, 0, 0].item() for sequence in flipped}) == 2


@with_each(
    ("make", "error", "message"),
    [
        (lambda: dv.Resize(None), ValueError, "Must provide max_size if size is None"),
        (lambda: dv.Resize(480, max_size=100), ValueError, "max_size should not be smaller"),
        (lambda: dv.Resize([3, 4], max_size=5), ValueError, "max_size should only be passed"),
        (
            lambda: dv.Resize(5, interpolation=tv.InterpolationMode.NEAREST_EXACT),
            NotImplementedError,
            "is not supported",
        ),
        (lambda: dv.Resize(5, interpolation=9), ValueError, "not a valid PIL code"),
        (lambda: dv.CenterCrop([1, 2, 3]), ValueError, "must have length 1 or 2"),
        (lambda: dv.CenterCrop(0), ValueError, "must be positive"),
        (lambda: dv.Pad(2, padding_mode="mirror"), ValueError, "Invalid padding mode"),
        (lambda: dv.Pad([1, 2, 3]), TypeError, "Padding must be an int or a sequence of length 2 or 4"),
        (lambda: dv.Pad(-1), ValueError, "must be non-negative"),
        (lambda: dv.RandomCrop(3, fill=[]), ValueError, "fill sequence must be non-empty"),
        (lambda: dv.RandomResizedCrop(3, scale=(0.5, 0.1)), ValueError, r"scale should be a \(min, max\) range"),
        (lambda: dv.Normalize([0.5], [0]), ValueError, "Std must not be 0"),
        (lambda: dv.Normalize("0.5", [1]), TypeError, "Mean must be a Sequence"),
        (lambda: dv.Normalize([0], [1], inplace=True), NotImplementedError, "inplace"),
        (lambda: dv.GaussianBlur(4), ValueError, "should be odd positive numbers"),
        (lambda: dv.GaussianBlur(3, (2, 1)), ValueError, r"should be \(min, max\)"),
        (lambda: dv.ColorJitter(hue=0.6), ValueError, "must be non-negative and < 0.5"),
        (lambda: dv.ColorJitter(brightness=None), ValueError, "brightness must not be None"),
        (lambda: dv.Grayscale(2), ValueError, "num_output_channels must be 1 or 3"),
        (lambda: dv.RandomApply([], p=2), ValueError, r"interval \[0.0, 1.0\]"),
        (lambda: dv.Resize(5)(None), RuntimeError, "is not directly callable. Use it only inside Compose pipeline"),
        (lambda: dv.Compose([])([1]), TypeError, "inpt should be Tensor or PIL Image"),
        (lambda: dv.Compose([], batch_size=1)(torch.zeros(2, 3, 4, 4)), RuntimeError, "has 2 images"),
        (lambda: dv.Compose([])(Image.new("P", (3, 3))), ValueError, "Mode P is not supported"),
        (lambda: F.normalize(Image.new("L", (3, 3)), [0], [1]), TypeError, "Data should be Tensor"),
    ],
)
def test_wrong_arguments(make: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_pictures_and_tensors_do_not_mix(images: Images) -> None:
    compose = dv.Compose([dv.RandomHorizontalFlip(1.0)])
    compose(images["RGB"])
    with pytest.raises(TypeError, match=r"expects PIL\.Images as input"):
        compose(images["tensor"])


def test_private_modules_of_nvidias_have_the_same_names() -> None:
    for module, names in private_names.MODULES.items():
        if module.startswith("experimental.torchvision."):
            owner = F if ".functional." in module else dv
            for name in names.keys() - {"Transform"}:
                assert getattr(private_names.private_module(module), name) is getattr(owner, name), name
