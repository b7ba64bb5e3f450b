"""Operators refuse bad input with their name, and the same pipeline goes on with good data.

All of it follows from the declarations: values beside each declared range, as constants and from nodes, words where
numbers belong, words and members that are none of the choices, lists of other lengths, arguments that are missing or
misspelt, and samples of other types, layouts and shapes than those of the operator's first case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import DaliLabError
from dali_lab.model import dtypes
from dali_lab.schema import Arg, Case, PerSample, all_operators, find_operator
from tests.conformance.harness import argument, declared, expanded, run
from tests.together import with_each

CASES = {
    name: declared(name)[0] for name, operator in all_operators().items() if not operator.source and declared(name)
}
Batch = list[np.ndarray]
TYPES = (dtypes.UINT8, dtypes.BOOL, dtypes.UINT16, dtypes.INT64, dtypes.FLOAT16, dtypes.FLOAT, dtypes.FLOAT64)


def beside_range(arg: Arg) -> Iterator[float]:
    """Numbers next to the declared range, outside it."""
    step = 1 if arg.type == "int" else 0.5
    if arg.minimum is not None:
        yield arg.minimum if arg.exclusive_minimum else arg.minimum - step
    if arg.maximum is not None:
        yield arg.maximum + step
    if arg.type == "float" and (arg.minimum is not None or arg.maximum is not None):
        yield float("nan")


def refused(error: BaseException, *words: str) -> None:
    """Assert that an error was raised on purpose, and names its culprit."""
    assert isinstance(error, DaliLabError), f"a bare {type(error).__name__}: {error}"
    cause = error.__cause__
    assert cause is None or not error.message.startswith(f"{type(cause).__name__}:"), str(error)
    for word in words:
        assert word in str(error)


@with_each("name", CASES)
def test_constants_are_held_to_what_is_declared(name: str) -> None:
    case = CASES[name]
    for arg in find_operator(name).argument_table.values():
        if arg.type not in ("int", "float") or not arg.listed:
            continue
        for value in ("many", *beside_range(arg)):
            length = (arg.length or 1) if arg.vector else 1
            given: Any = [value] * length if arg.vector else value
            with pytest.raises((DaliLabError, TypeError)) as caught:
                run(dali_lab, name, Case(case.inputs, {**case.arguments, arg.name: given}))
            refused(caught.value, name, arg.name, "many" if value == "many" else f"{value:g}")


@with_each("name", CASES)
def test_values_of_nodes_are_held_to_what_is_declared(name: str) -> None:
    """For arguments that the operator's first case connects, or gives as constants that may be connected."""
    case = CASES[name]
    for key, value in case.arguments.items():
        arg = find_operator(name).argument_table[key]
        if not arg.tensor or arg.type not in ("int", "float") or value is None:
            continue
        good = value.values if isinstance(value, PerSample) else [np.array(value)] * samples_of(case)
        for wrong in beside_range(arg):
            bad = [np.full_like(good[-1], wrong, np.float32)] * len(good)
            with pytest.raises(DaliLabError) as caught:
                run(dali_lab, name, Case(case.inputs, {**case.arguments, key: PerSample(bad)}))
            refused(caught.value, name, key)


@with_each("name", CASES)
def test_only_declared_choices_and_lengths_are_taken(name: str) -> None:
    case = CASES[name]
    for arg in find_operator(name).argument_table.values():
        if not arg.listed or not (arg.choices or arg.lengths):
            continue
        if arg.lengths:
            low = 1 if arg.minimum is None else arg.minimum
            wrong: list[tuple[Any, str]] = [([low] * (max(arg.lengths) + 1), f"got {max(arg.lengths) + 1}")]
        else:
            kind = type(next(iter(arg.choices or ())))
            others = (member for member in kind if member not in (arg.choices or ())) if kind is not str else ()
            wrong = [(member, f"not {member.name}") for member in others if member.name not in ("NO_TYPE", "ANY_DATA")]
            wrong.append(("nonsense", "nonsense"))
        for value, word in wrong:
            with pytest.raises(DaliLabError) as caught:
                run(dali_lab, name, Case(case.inputs, {**case.arguments, arg.name: value}))
            refused(caught.value, name, arg.name, *([word] if has_elements(value) else []))


def has_elements(value: Any) -> bool:
    """Whether it is no type of data without elements, which all arguments refuse."""
    return not isinstance(value, dtypes.DALIDataType) or dtypes.has_elements(value)


@with_each("name", CASES)
def test_arguments_that_are_missing_or_misspelt_are_named(name: str) -> None:
    case = CASES[name]
    for arg in find_operator(name).argument_table.values():
        if not arg.listed or arg.name in ("name", "preserve"):
            continue
        if arg.required:
            rest = {key: value for key, value in case.arguments.items() if key != arg.name}
            with pytest.raises(DaliLabError, match="must be given") as caught:
                run(dali_lab, name, Case(case.inputs, rest))
            refused(caught.value, name, arg.name)
        elif len(arg.name) > 6:
            with pytest.raises((DaliLabError, TypeError), match=f"'{arg.name}'"):
                run(dali_lab, name, Case(case.inputs, {**case.arguments, arg.name[0] + arg.name: 1}))


@with_each("name", [name for name, case in CASES.items() if case.inputs])
def test_only_declared_types_layouts_and_dimensions_are_taken(name: str) -> None:
    case = CASES[name]
    inputs = expanded(case.inputs, case.batch_size)
    declared = find_operator(name).inputs
    for place, (arrays, layout) in enumerate(inputs):
        known = declared[min(place, len(declared) - 1)]
        changed: list[tuple[Batch, str, str]] = []
        for dtype in TYPES if known.dtypes is not None else ():
            kind = dtypes.numpy_dtype(dtype)
            if dtype not in (known.dtypes or ()):
                changed.append(([np.zeros(array.shape, kind) for array in arrays], layout, f"got {dtype.name}"))
        if known.layouts is not None and "" not in known.layouts:
            other = "XYZUVW"[: arrays[0].ndim]
            changed.append(
                (
                    arrays,
                    other,
                    f'The layout "{other}" does not match any of the allowed layouts for it: {known.layouts[0]}',
                )
            )
        if known.dims is not None:
            most = max(known.dims) + 1
            changed.append(([np.zeros((1,) * most, array.dtype) for array in arrays], "", f"dimensions, got {most}"))
        for batch, letters, words in changed:
            wrong = [(batch, letters) if k == place else pair for k, pair in enumerate(inputs)]
            with pytest.raises(DaliLabError) as caught:
                run(dali_lab, name, Case(tuple(wrong), case.arguments))
            refused(caught.value, name, words)


def samples_of(case: Case) -> int:
    return len(expanded(case.inputs, case.batch_size)[0][0]) if case.inputs else case.batch_size


def others(arrays: Batch) -> Iterator[Batch]:
    """Batches of the same type that are something else: other dimensions, extents or bytes."""
    first = arrays[0]
    yield [np.zeros((), first.dtype)] * len(arrays)
    yield [np.zeros((1,) * 7, first.dtype)] * len(arrays)
    for axis in range(first.ndim):
        yield [*arrays[:-1], np.take(arrays[-1], range(0), axis)]
    if first.ndim > 1:
        yield [*arrays[:-1], np.repeat(arrays[-1], 2, first.ndim - 1)]
    if first.ndim == 1 and first.dtype == np.uint8:
        for end in (1, 9, len(arrays[-1]) // 2, max(len(arrays[-1]) - 9, 0)):
            yield [*arrays[:-1], arrays[-1][:end].copy()]
        yield [*arrays[:-1], np.zeros_like(arrays[-1])]


def fed(batches: list[Batch], layout: str) -> Any:
    source = iter(batches)
    return dali_lab.fn.external_source(source=lambda: next(source), **({"layout": layout} if layout else {}))


@with_each("name", [name for name, case in CASES.items() if case.inputs])
def test_a_pipeline_goes_on_after_bad_samples(name: str) -> None:
    case = CASES[name]
    inputs = expanded(case.inputs, case.batch_size)
    function: Any = dali_lab.fn
    for part in name.split("."):
        function = getattr(function, part)
    for place, (arrays, _) in enumerate(inputs):
        if not arrays:
            continue
        bad = [batch for batch in others(arrays) if all(array.ndim == arrays[0].ndim for array in batch)]
        with dali_lab.Pipeline(len(arrays), 2, None, seed=3) as pipeline:
            nodes = [
                fed([batch for wrong in bad for batch in (good, wrong if k == place else good)] + [good], layout)
                for k, (good, layout) in enumerate(inputs)
            ]
            arguments = {key: argument(value, dali_lab.types, constants) for key, value in case.arguments.items()}
            outputs = function(*nodes, **arguments)
            pipeline.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else (outputs,)))
        first = contents(pipeline.run())
        for index in range(len(bad)):
            try:
                pipeline.run()
            except Exception as error:  # whatever it is, `refused` says whether it is ours
                refused(error, name)
            again = contents(pipeline.run())
            if not find_operator(name).random:
                for one, other in zip(first, again, strict=True):
                    np.testing.assert_array_equal(one, other, err_msg=f"input {place}, after bad batch {index}")


def constants(arrays: Batch, layout: str) -> Any:
    return dali_lab.fn.external_source(source=lambda: arrays, **({"layout": layout} if layout else {}))


def contents(outputs: Any) -> Batch:
    return [np.array(output.at(index)) for output in outputs for index in range(len(output))]


@with_each("name", [name for name, case in CASES.items() if case.inputs])
def test_other_dimensions_are_refused_or_taken(name: str) -> None:
    case = CASES[name]
    inputs = expanded(case.inputs, case.batch_size)
    declared = find_operator(name).inputs
    for place, (arrays, _) in enumerate(inputs):
        for batch in others(arrays) if arrays else ():
            # Where all layouts are taken, kernels would be compiled for seven dimensions.
            unusual = batch[0].ndim == 7 and declared[min(place, len(declared) - 1)].layouts is None
            if batch[0].ndim == arrays[0].ndim or unusual:
                continue
            changed = [(batch, "") if k == place else pair for k, pair in enumerate(inputs)]
            try:
                run(dali_lab, name, Case(tuple(changed), case.arguments))
            except Exception as error:  # as above
                refused(error, name)
