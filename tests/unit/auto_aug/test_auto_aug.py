"""Automatic augmentation chooses and runs NVIDIA DALI's operations, with given seeds and with the pipeline's."""

from __future__ import annotations

import importlib
import re
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import auto_aug, fn, types
from dali_lab.auto_aug import augmentations as a
from dali_lab.auto_aug import auto_augment, rand_augment, trivial_augment
from dali_lab.auto_aug.core import Policy, augmentation, select, signed_bin
from dali_lab.schema import samples
from tests.together import with_each

BATCH = 16
PICTURES = [samples.picture(40 + i, 56 - i, seed=i) for i in range(BATCH)]
SEQUENCES = [np.stack([samples.picture(20, 24, seed=i + 9 * f) for f in range(1 + i % 3)]) for i in range(BATCH)]


def run(
    engine: str,
    module: str,
    name: str,
    data: list[np.ndarray],
    layout: str = "HWC",
    *,
    use_shape: bool = False,
    **arguments: Any,
) -> list[np.ndarray]:
    """The samples of two batches after an automatic augmentation of `engine`."""
    dali: ModuleType = importlib.import_module(engine)
    function = getattr(importlib.import_module(f"{engine}.auto_aug.{module}"), name)

    @dali.pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=5, enable_conditionals=True)
    def pipeline() -> Any:
        images = dali.fn.external_source(source=lambda: data, layout=layout)
        if use_shape:
            return function(images, shape=images.shape()[-3:-1] if layout == "FHWC" else images.shape(), **arguments)
        return function(images, **arguments)

    made = pipeline()
    made.build()
    result = []
    for _ in range(2):
        batch = made.run()[0].as_cpu()
        result += [np.array(batch.at(index)) for index in range(BATCH)]
    return result


def agree(module: str, name: str, data: list[np.ndarray] = PICTURES, layout: str = "HWC", **arguments: Any) -> None:
    pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
    importlib.import_module("nvidia.dali.fn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = run("nvidia.dali", module, name, data, layout, **arguments)
    ours = run("dali_lab", module, name, data, layout, **arguments)
    for index, (own, other) in enumerate(zip(ours, theirs, strict=True)):
        assert own.shape == other.shape
        difference = np.abs(own.astype(int) - other.astype(int))
        # Colour and interpolation round a half-way value to either level, and a later step may enlarge the difference.
        assert (difference > 2).sum() == 0, f"sample {index}: differs by {difference.max()}"
        assert (difference > 0).mean() < 0.002, f"sample {index}: {(difference > 0).mean():.2%} differ"


@pytest.mark.parametrize(("policy", "seed"), [("image_net", None), ("reduced_cifar10", 42)])
def test_auto_augment(policy: str, seed: int | None) -> None:
    """Another policy runs below; what is in the four of them is compared as text."""
    agree("auto_augment", "auto_augment", policy_name=policy, seed=seed)


def test_auto_augment_with_shapes() -> None:
    agree("auto_augment", "auto_augment", policy_name="svhn", use_shape=True, max_translate_rel=(0.2, 0.3), seed=3)
    agree("auto_augment", "auto_augment_image_net", use_shape=True, fill_value=None, seed=4)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": 1, "m": 10},
        {"n": 3, "m": 20, "seed": 8},
        {"n": 2, "m": 30, "monotonic_mag": False, "seed": 8},
        {"n": 2, "m": 4, "num_magnitude_bins": 9, "excluded": ["equalize", "rotate"], "use_shape": True},
        {"n": 1, "m": 3, "max_translate_abs": (5, 9), "interp_type": types.INTERP_NN, "fill_value": 7},
    ],
)
def test_rand_augment(arguments: dict[str, Any]) -> None:
    if "interp_type" in arguments:
        arguments = {**arguments, "interp_type": int(arguments["interp_type"])}
        pytest.importorskip("nvidia.dali")
        oracle_types = importlib.import_module("nvidia.dali.types")
        arguments["interp_type"] = oracle_types.DALIInterpType.INTERP_NN
    agree("rand_augment", "rand_augment", **arguments)


@pytest.mark.parametrize("arguments", [{}, {"seed": 1}, {"num_magnitude_bins": 4, "use_shape": True}])
def test_trivial_augment(arguments: dict[str, Any]) -> None:
    agree("trivial_augment", "trivial_augment_wide", **arguments)


def test_sequences() -> None:
    agree("trivial_augment", "trivial_augment_wide", SEQUENCES, "FHWC", seed=2)
    agree("rand_augment", "rand_augment", SEQUENCES, "FHWC", n=2, m=15, seed=2)


def test_own_augmentations_and_select() -> None:
    """The example of the documentation: a suite of one's own, and a choice by a node."""

    @augmentation(mag_range=(0, 100), mag_to_param=np.float32)
    def brighter(data: Any, shift: Any, factor: float = 1.0) -> Any:
        return fn.cast_like(data * factor + shift, data)

    @dali_lab.pipeline_def(batch_size=4, num_threads=1, device_id=None, enable_conditionals=True)
    def pipeline() -> Any:
        zero = fn.external_source(source=lambda: [np.zeros((2, 2, 3), np.uint8)] * 4, layout="HWC")
        chosen = fn.external_source(source=lambda: [np.int32(v) for v in (0, 1, 2, 1)])
        return select(
            [brighter, a.invert, a.identity], chosen, zero, magnitude_bin=5, num_magnitude_bins=11, factor=2.0
        )

    (result,) = pipeline().run()
    assert [int(np.array(result.at(i)).max()) for i in range(4)] == [50, 255, 0, 255]


def test_settings_are_changed_by_copies() -> None:
    wide = a.shear_x.augmentation(mag_range=(0, 0.5), name="wide")
    assert (wide.name, wide.mag_range, wide.randomly_negate) == ("wide", (0, 0.5), True)
    assert (a.shear_x.name, a.shear_x.mag_range) == ("shear_x", (0, 0.3))
    assert "Augmentation(" in repr(wide)


def test_policy_names_its_augmentations_apart() -> None:
    one, two = a.rotate.augmentation((0, 10)), a.rotate.augmentation((0, 20))
    policy = Policy("mine", 5, [[(one, 0.5, 3), (two, 1, 0)], [(one, 0.1, 4)]])
    assert list(policy.augmentations) == ["0__rotate", "1__rotate"]
    assert policy.sub_policies[1][0][0].mag_range == (0, 10)
    assert "mine" in repr(policy)


@with_each(
    ("make", "words"),
    [
        (lambda: Policy("p", 0, []), ("auto_aug.Policy", "num_magnitude_bins", "0")),
        (lambda: Policy("p", 5, "x"), ("sub_policies",)),
        (lambda: Policy("p", 5, [[(a.rotate, 0.5)]]), ("as a triple",)),
        (lambda: Policy("p", 5, [[("rotate", 0.5, 1)]]), ("must be an instance of Augmentation",)),
        (lambda: Policy("p", 5, [[(a.rotate, 1.5, 1)]]), ("Probability", "1.5")),
        (lambda: Policy("p", 5, [[(a.rotate, 0.5, 7)]]), ("[0, 4]", "7")),
        (lambda: Policy("p", 5, [[(a.rotate, 0.5, None)]]), ("rotate", "None")),
        (lambda: augmentation(a.rotate), ("already",)),
        (lambda: augmentation(lambda data: data), ("positional",)),
        (lambda: signed_bin("3"), ("magnitude_bin",)),
        (lambda: auto_augment.auto_augment(None, "imagenet"), ("policy_name", "image_net")),
        (lambda: auto_augment.auto_augment(None, "reduced_image_net", shape=(1, 2)), ("shape",)),
        (lambda: auto_augment.get_svhn_policy(True, max_translate_abs=3), ("max_translate_abs",)),
        (lambda: auto_augment.auto_augment(None, max_translate_abs=[1, 2, 3]), ("auto_augment,", "[1, 2, 3]")),
        (lambda: auto_augment.get_svhn_policy(max_translate_abs="far"), ("max_translate_abs", "'far'")),
        (lambda: auto_augment.get_svhn_policy(False, max_translate_rel=0.1), ("max_translate_rel",)),
        (lambda: rand_augment.rand_augment(None, -1, 3), ("auto_aug.rand_augment", "'n'", "-1")),
        (
            lambda: rand_augment.rand_augment(None, 1, 31),
            ("auto_aug.rand_augment", "The magnitude bin `m` must be an", "[0, 30]", "31"),
        ),
        (
            lambda: rand_augment.rand_augment(None, 1, 3, excluded=["rotat"]),
            ("`rotat` was specified in `excluded`, but the RandAugment suite does not contain", "mean 'rotate'"),
        ),
        (
            lambda: rand_augment.apply_rand_augment([], None, 1, 3),
            ("list cannot be empty, unless n=0. Got empty list in `apply_rand_augment` call.",),
        ),
        (
            lambda: trivial_augment.apply_trivial_augment([], None, 3),
            ("list cannot be empty. Got empty list in `apply_trivial_augment` call.",),
        ),
        (
            lambda: auto_augment.auto_augment(None, "imagenet"),
            ("must be a string that takes one of the values: `image_net`, `reduced_image_net`", "mean 'image_net'"),
        ),
        (lambda: select([], None), ("the list is empty",)),
        (lambda: trivial_augment.trivial_augment_wide(None, num_magnitude_bins=0), ("num_magnitude_bins",)),
        (lambda: a.rotate(None, magnitude_bin=11, num_magnitude_bins=11), ("rotate", "magnitude_bin", "[0..10]", "11")),
        (lambda: augmentation(a.rotate.op, mag_range=(1, "a"))(None, num_magnitude_bins=3), ("mag_range", "'a'")),
    ],
)
def test_errors_name_the_culprit(make: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(dali_lab.DaliLabError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_arguments_that_nothing_takes_or_that_lack() -> None:
    suite = trivial_augment.get_trivial_augment_wide_suite(use_shape=True)
    with dali_lab.Pipeline(1, 1, None):
        images = fn.external_source(source=lambda: [PICTURES[0]], layout="HWC")
        with pytest.raises(
            dali_lab.DaliLabError,
            match=r"apply_trivial_augment got unexpected kwarg. The kwarg `colour` is not used by any",
        ):
            trivial_augment.apply_trivial_augment(suite, images, colour=3)
        with pytest.raises(dali_lab.DaliLabError, match="shape"):
            a.translate_x(images, magnitude_bin=3, num_magnitude_bins=5)


def test_no_augmentations_are_a_warning() -> None:
    with pytest.warns(UserWarning, match="called with `n=0`, no augmentation will be applied"):
        assert rand_augment.apply_rand_augment([], 7, 0, 3) == 7


def test_the_package_says_what_it_is() -> None:
    assert "TrivialAugment" in (auto_aug.__doc__ or "")


def printed(engine: str, policy: str) -> str:
    """A policy as `engine` prints it, without the addresses of its functions."""
    module = importlib.import_module(f"{engine}.auto_aug.auto_augment")
    return re.sub("0x[0-9a-f]+", "", repr(getattr(module, f"get_{policy}_policy")()))


@pytest.mark.parametrize("policy", ["image_net", "reduced_image_net", "reduced_cifar10", "svhn"])
def test_policies_are_printed_as_in_nvidia_dali(policy: str) -> None:
    pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of this test")
    assert printed("dali_lab", policy) == printed("nvidia.dali", policy)
