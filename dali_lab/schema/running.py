"""Runs one operator on one chunk: layouts and frames of its inputs, checks of its outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch, rows_of
from dali_lab.model.errors import DaliLabError, InputError, OperatorError, as_ours
from dali_lab.schema.call import Call, Wait
from dali_lab.schema.operator import Operator
from dali_lab.schema.ports import Input, any_of


def run_operator(
    operator: Operator, call: Call, inputs: Sequence[Batch], output_count: int, *, check: bool = True
) -> tuple[Batch, ...]:
    """Run an operator on a chunk: give inputs their layouts, cut sequences into frames, check the outputs.

    Raises
    ------
    DaliLabError
        If the operator does not take the inputs, fails, or returns other outputs than it declares.
    """
    inputs = [with_layout(call, index, batch) for index, batch in enumerate(inputs)]
    for index, batch in enumerate(inputs):
        _check_elements(call, index, batch)
    if _channels_before_frames(operator, call, inputs):
        return _channel_by_channel(operator, call, inputs[0], output_count)
    counts = None
    sequences = _sequences(operator, call, inputs)
    if sequences is not None:
        counts = sequences[:, 0].copy()
        inputs = [_each_frame(batch, counts) for batch in inputs]
        call.repeat = counts
        call.count = len(inputs[0])
    elif operator.frames and inputs and "F" not in inputs[0].layout:
        _check_no_frames(operator, call, inputs[0])
    try:
        results = operator.run(call, *inputs)
    except (DaliLabError, Wait):
        raise
    except Exception as error:  # a library may raise anything about a damaged file
        if not operator.reads_files or call.gpu is not None:
            raise
        raise _of_a_sample(operator, call, inputs, error) from error
    outputs = results if isinstance(results, tuple) else (results,)
    if len(outputs) != output_count:
        raise OperatorError(f"declares {output_count} outputs and returned {len(outputs)}")
    if counts is not None:
        outputs = tuple(batch.folded(counts, "F", sequences) for batch in outputs)
    if check:
        expected = len(counts) if counts is not None else call.count
        for batch in outputs:
            if len(batch) != expected:
                raise OperatorError(f"returned {len(batch)} samples for {expected}")
    if not operator.source:
        for batch in outputs:
            if batch.sources is None:
                batch.sources = call.sources if call.sources and len(call.sources) == len(batch) else None
    return outputs


def _sequences(operator: Operator, call: Call, inputs: Sequence[Batch]) -> npt.NDArray[np.int64] | None:
    """The shapes of the first input with frames that an operator is run on one by one, if any.

    Raises
    ------
    DaliLabError
        If another input has another number of frames.
    """
    if not operator.frames or not inputs or (inputs[0].layout.startswith("F") and _takes(operator, inputs[0].layout)):
        return None
    found = {index: batch.shapes for index, batch in enumerate(inputs) if batch.layout.startswith("F")}
    first, sequences = next(iter(found.items()), (0, None))
    for index, shapes in found.items():
        wrong = np.flatnonzero(shapes[:, 0] != found[first][:, 0])
        if len(wrong):
            counts = [int(each[wrong[0], 0]) for each in (found[first], shapes)]
            raise call.problem(
                f"The input {first} and the input {index} have different number of frames for sample"
                f" {call.start + wrong[0]}, respectively: {counts[0]} and {counts[1]}"
            )
    return sequences


def _check_no_frames(operator: Operator, call: Call, data: Batch) -> None:
    """Refuse arguments with values for each frame where the input has no frames."""
    for name, batch in call.batches.items():
        if batch.layout.startswith("F") and batch.ndim and operator.argument_table[name].per_frame:
            raise call.problem(
                f"Tensor input for argument {name} is specified per frame (got {batch.layout} layout). In that case,"
                f" samples in the input 0 must contain frames too. Got layout `{data.layout}` that does not contain"
                " frames.",
                argument=name,
            )


def _of_a_sample(operator: Operator, call: Call, inputs: Sequence[Batch], error: Exception) -> DaliLabError:
    """An error that a library raised while files were read or decoded, with the sample and the file that it is about.

    The sample is found by running the operator on each of them alone.
    """
    sources = operator.source_names(call) if operator.source else inputs[0].sources if inputs else None
    for index in range(call.count):
        alone = dataclasses.replace(
            call, start=call.start + index, count=1, place=None, notes=None, sharing=None,
            batches={name: batch.take(slice(index, index + 1)) for name, batch in call.batches.items()},
        )  # fmt: skip
        try:
            operator.run(alone, *(batch.take(slice(index, index + 1)) for batch in inputs))
        except (DaliLabError, Wait):
            continue
        except Exception as found:  # this sample alone raises it too, whatever its class
            source = sources[index] if sources and index < len(sources) else None
            return as_ours(found, sample=call.start + index, source=source)
    return as_ours(error)


def _channels_before_frames(operator: Operator, call: Call, inputs: Sequence[Batch]) -> bool:
    """Whether per-frame arguments meet channel-first sequences, which operators take as they are."""
    if not (operator.frames and len(inputs) == 1 and inputs[0].layout.startswith("CF")):
        return False
    return operator.inputs[0].layouts is None and any(batch.layout[:1] == "F" for batch in call.batches.values())


def _channel_by_channel(operator: Operator, call: Call, data: Batch, output_count: int) -> tuple[Batch, ...]:
    """The channels one after the other as one long sequence, with the per-frame arguments repeated for each channel.

    An argument with a single frame stays as it is: it is for all of them.
    """
    channels, frames = data.shapes[:, :1], data.shapes[:, 1:2]
    batches = {
        name: Batch.of(
            [
                row if len(row) == 1 else np.concatenate([row] * int(n))
                for row, n in zip(batch.arrays(), channels[:, 0], strict=True)
            ],
            batch.layout,
        )
        if batch.layout[:1] == "F"
        else batch
        for name, batch in call.batches.items()
    }
    flat = data.replaced(shapes=np.hstack([channels * frames, data.shapes[:, 2:]]), layout=data.layout[1:])
    outputs = run_operator(operator, dataclasses.replace(call, batches=batches), [flat], output_count)
    return tuple(
        batch.replaced(shapes=np.hstack([channels, frames, batch.shapes[:, 1:]]), layout="C" + batch.layout)
        for batch in outputs
    )


def with_layout(call: Call, index: int, batch: Batch) -> Batch:
    """The batch with the layout that the operator assumes where none is given.

    Raises
    ------
    InputError
        If the operator does not take the layout.
    """
    declared = _declared(call, index)
    if declared is None or declared.layouts is None:
        return batch
    if not batch.layout:
        layout = declared.assumed_layout(batch.ndim, call.operator.frames and not call.operator.frames_by_layout)
        if layout:
            return batch.replaced(layout=layout)
        if "" in declared.layouts:
            return batch
        raise call.problem(
            f"input {index} ({declared.name}) has no layout. The number of dimensions {batch.ndim} does not match any"
            f" of the allowed layouts for input {index}. Valid layouts are:\n{', '.join(declared.layouts)}",
            kind=InputError,
        )
    if batch.layout in declared.layouts or "" in declared.layouts:
        return batch
    if call.operator.frames and batch.layout[:1] == "F" and batch.layout[1:] in declared.layouts:
        return batch
    raise call.problem(
        f'input {index} ({declared.name}) has layout {batch.layout}. The layout "{batch.layout}" does not match any of'
        f" the allowed layouts for it: {', '.join(declared.layouts)}",
        kind=InputError,
    )


def _each_frame(batch: Batch, counts: npt.NDArray[np.int64]) -> Batch:
    """A sample for each frame: those of sequences, or the one that is given for all frames of a sequence."""
    return batch.unfolded() if batch.layout.startswith("F") else batch.take(rows_of(counts)[0])


def _check_elements(call: Call, index: int, batch: Batch) -> None:
    """Raise if the operator does not take elements of the batch's type, or samples of its number of dimensions."""
    declared = _declared(call, index)
    if declared is None:
        return
    which = f"'{declared.name}' of " if len(call.operator.inputs) > 1 else ""
    if declared.dtypes is not None and batch.dtype not in declared.dtypes:
        raise call.problem(
            f"takes {which}{any_of(declared.dtypes)}, got {batch.dtype.name}"
            f" (requested type: {declared.dtypes[0].name.lower()} current buffer type: {batch.dtype.name.lower()})"
        )
    if declared.dims is not None and batch.ndim not in declared.dims:
        numbers = " or ".join(map(str, declared.dims))
        raise call.problem(f"takes {which}{numbers} dimensions, got {batch.ndim}")


def _declared(call: Call, index: int) -> Input | None:
    """The declaration of an input; the last one may be repeated."""
    declared = call.operator.inputs
    return declared[min(index, len(declared) - 1)] if declared else None


def _takes(operator: Operator, layout: str) -> bool:
    declared = operator.inputs[0].layouts
    return declared is not None and layout in declared
