"""Constants of another type than the declared one are converted, or refused, as NVIDIA DALI does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab.schema.cases import Case, PerSample
from tests.conformance.harness import compare, run
from tests.together import with_each

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

DATA = [np.arange(24, dtype=np.float32).reshape(2, 3, 4)] * 2
SIGNAL = [np.arange(9, dtype=np.float32)] * 2
NUMBERS = ["1", " 1 ", b"1", 1, 1.7, -0.5, True, np.int8(1), np.float16(1.5), np.array(1.5), np.array([1]), 1e-3]


@pytest.mark.parametrize("value", [*NUMBERS, ["1"], [1.9], (0, 2.2)], ids=repr)
def test_integers(value: Any) -> None:
    case = Case((DATA,), {"axes": value})
    compare(run(dali_lab, "expand_dims", case), run(dali, "expand_dims", case), case)


@pytest.mark.parametrize("value", [*NUMBERS, "1.5", "-1e-2"], ids=repr)
def test_floats(value: Any) -> None:
    case = Case((SIGNAL,), {"preemph_coeff": value}, tolerance=1e-6)
    compare(run(dali_lab, "preemphasis_filter", case), run(dali, "preemphasis_filter", case), case)


@pytest.mark.parametrize(
    "value",
    [0, 1, 2.5, 0.0, np.bool_(True), np.float32(0), float("nan"), [True], (1, 2.5), np.array([False]), [[True]]],
    ids=repr,
)
def test_bools(value: Any) -> None:
    case = Case((DATA,), {"axes": 0, "keep_dims": value})
    compare(run(dali_lab, "reductions.max", case), run(dali, "reductions.max", case), case)


@pytest.mark.parametrize("value", [9, 9.0, 9.9, np.int64(9), "9"], ids=repr)
def test_types(value: Any) -> None:
    case = Case((DATA,), {"dtype": value})
    compare(run(dali_lab, "cast", case), run(dali, "cast", case), case)


@pytest.mark.parametrize("value", [0, 0.0, 2.7, np.float32(1), True, "2", " 1 ", b"1"], ids=repr)
def test_interpolations(value: Any) -> None:
    case = Case((([np.arange(75, dtype=np.uint8).reshape(5, 5, 3)], "HWC"),), {"size": (3, 8), "interp_type": value})
    compare(run(dali_lab, "resize", case), run(dali, "resize", case), case)


@with_each(
    ("operator", "argument", "value"),
    [
        ("preemphasis_filter", "preemph_coeff", [0.5]),
        ("preemphasis_filter", "preemph_coeff", (0.5, 0.5)),
        ("random.uniform", "seed", [3]),
        ("reductions.sum", "dtype", 99),
        ("reductions.sum", "dtype", float("inf")),
        ("expand_dims", "axes", "one"),
        ("expand_dims", "axes", "1.5"),
        ("expand_dims", "axes", float("nan")),
        ("expand_dims", "axes", {1: 2}),
        ("preemphasis_filter", "preemph_coeff", "much"),
        ("random.uniform", "seed", 2**63),
        ("random.uniform", "seed", "x"),
        ("random.uniform", "range", (1, 1)),
        ("random.uniform", "range", (0, float("nan"))),
        ("random.uniform", "range", ((0, 1),)),
        ("random.uniform", "values", [None]),
        ("random.uniform", "values", range(3)),
        ("expand_dims", "axes", np.array([0, 1])),
        ("expand_dims", "axes", [[0]]),
        ("expand_dims", "axes", {0}),
        ("expand_dims", "axes", np.int32),
        ("reductions.sum", "keep_dims", []),
        ("reductions.sum", "keep_dims", np.array([True, True])),
        ("reductions.sum", "axes", 1j),
    ],
)
def test_what_nvidia_dali_refuses(operator: str, argument: str, value: Any) -> None:
    case = Case(() if operator.startswith("random") else (SIGNAL,), {argument: value}, batch_size=2)
    with pytest.raises(Exception):  # noqa: B017  (NVIDIA DALI's kinds differ)
        run(dali, operator, case)
    with pytest.raises(dali_lab.DaliLabError, match=f"fn.{operator}(.|\n)*'{argument}'"):
        run(dali_lab, operator, case)


UNSET = {
    "brightness": {"brightness": 1.5},
    "brightness_contrast": {"contrast": 1.5},
    "color_twist": {"saturation": 0.5},
    "contrast": {"contrast": 0.5},
    "crop": {"crop": (2, 2)},
    "filter": None,
    "gaussian_blur": {"sigma": 1.0},
    "hsv": {"saturation": 0.5},
    "hue": {"hue": 10.0},
    "laplacian": {},
    "reductions.mean": {},
    "reductions.sum": {},
    "reinterpret": {"shape": (4, 15)},
    "resize": {"size": (3, 8)},
    "rotate": {"angle": 30.0},
    "saturation": {"saturation": 0.5},
    "slice": {"start": (1, 1), "shape": (2, 2)},
    "tensor_resize": {"sizes": (3, 8, 3)},
    "warp_affine": {"matrix": (1, 0, 1, 0, 1, 0)},
}


@pytest.mark.parametrize("operator", UNSET)
def test_no_type(operator: str) -> None:
    """``types.NO_TYPE`` is taken where a type may be left out; it is the input's then, or what that becomes."""
    images = ([np.linspace(0, 99, 60, dtype=np.uint8).reshape(4, 5, 3)] * 2, "HWC")
    options = UNSET[operator]
    inputs = (images,) if options is not None else (images, [np.ones((1, 1), np.float32)] * 2)
    case = Case(inputs, {**(options or {}), "dtype": dali_lab.types.NO_TYPE}, tolerance=1)
    compare(run(dali_lab, operator, case), run(dali, operator, case), case)


@pytest.mark.parametrize("operator", ["cast", "normalize", "ones_like", "random.uniform", "decoders.audio"])
def test_no_type_is_refused(operator: str) -> None:
    case = Case(() if operator.startswith("random") else (DATA,), {"dtype": dali_lab.types.NO_TYPE})
    with pytest.raises(Exception):  # noqa: B017
        run(dali, operator, case)
    with pytest.raises(dali_lab.DaliLabError, match=f"fn.{operator}(.|\n)*'dtype'"):
        run(dali_lab, operator, case)


FED = {np.float32: "crop_pos_x", np.int32: "mirror"}


@pytest.mark.parametrize("argument", FED.values())
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int64, np.uint8, np.float64, np.bool_])
def test_types_of_connected_arguments(kind: type[np.generic], argument: str) -> None:
    """A node gives numbers of the very type that the argument has."""
    images = ([np.arange(60, dtype=np.uint8).reshape(4, 5, 3)] * 2, "HWC")
    case = Case((images,), {"crop": (2, 2), argument: PerSample([kind(1)] * 2)})
    if FED.get(kind) == argument:
        compare(run(dali_lab, CROPS, case), run(dali, CROPS, case), case)
        return
    with pytest.raises(RuntimeError, match="type"):
        run(dali, CROPS, case)
    with pytest.raises(dali_lab.DaliLabError, match=f"fn.{CROPS}(.|\n)*'{argument}'(.|\n)*takes (FLOAT|INT32)"):
        run(dali_lab, CROPS, case)


CROPS = "crop_mirror_normalize"


@pytest.mark.parametrize("options", [{"name": ""}, {"device": None, "no_such_argument": None}, {"seed": 3}], ids=str)
def test_arguments_without_effect(options: dict[str, Any]) -> None:
    case = Case((SIGNAL,), options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the seed
        compare(run(dali_lab, "copy", case), run(dali, "copy", case), case)


def test_seeds_that_have_no_effect_take_none_from_others() -> None:
    def numbers(engine: Any) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with engine.Pipeline(2, 1, None, seed=5) as pipeline:
                first = engine.fn.copy(engine.fn.random.uniform(), seed=3)
                pipeline.set_outputs(first + engine.fn.random.uniform(), engine.fn.random.uniform())
            pipeline.build()
            return [np.array(output.at(index)).item() for output in pipeline.run() for index in range(2)]

    assert numbers(dali_lab) == numbers(dali)


@pytest.mark.parametrize(
    "value",
    [
        lambda node: [node, 1],
        lambda node: (node, node),
        lambda _: [[1], [2]],
        lambda _: ["a"],
        lambda _: 2**40,
        lambda _: {},
    ],
)
def test_inputs_that_are_no_data(value: Any) -> None:
    with dali_lab.Pipeline(2, 1, None):
        node = dali_lab.fn.random.uniform()
        wanted = r"fn.cat(.|\n)*input 1(.|\n)*expected inputs of type 'DataNode'"
        with pytest.raises(dali_lab.DaliLabError, match=wanted):
            dali_lab.fn.cat(node, value(node))


@pytest.mark.parametrize("value", ["False", [False], (0.0,), {}])
def test_what_only_looks_true_is_refused(value: Any) -> None:
    """NVIDIA DALI takes any word for true, ``"False"`` too, and any list that holds something."""
    with pytest.raises(dali_lab.DaliLabError, match=r"keep_dims(.|\n)*takes a bool"):
        run(dali_lab, "reductions.max", Case((DATA,), {"keep_dims": value}))
