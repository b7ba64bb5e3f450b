"""Functions on JAX arrays in a pipeline; needs jax."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import jax
import numpy as np

from dali_lab.graph.recorder import DataNode
from dali_lab.graph.tracing import traced_call
from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError
from dali_lab.operators.python.python_function import FunctionOperator
from dali_lab.schema import Arg, Call, Output, register
from dali_lab.schema.registry import find_operator


@register
class JaxFunction(FunctionOperator):
    """Runs a Python function on JAX arrays, each of which holds a whole batch of samples of one shape."""

    name = "jax_function"
    schema_name = "_JaxFunction"
    family = "tensor"
    title = "JAX function"
    outputs = (Output("output", doc="Result of the function."),)
    arguments = (
        *FunctionOperator.arguments,
        Arg("sharding", "object", None, "A ``jax.sharding.Sharding`` of arrays."),
    )
    hidden = True

    def run(self, call: Call, *inputs: Batch) -> tuple[Batch, ...]:
        arrays = [self._array(index, batch) for index, batch in enumerate(inputs)]
        with call.user_context():
            answer = self._function(*arrays)
        if isinstance(answer, list):
            answer = tuple(answer)
        columns = [np.asarray(column) for column in self._columns(answer)]
        layouts = self.value("output_layouts") or [
            batch.layout if column.ndim - 1 == batch.ndim else None
            for column, batch in zip(columns, inputs, strict=False)
        ]
        results = self._batches(columns, call.count, layouts)
        for result in results:
            result.sources = _joined([batch.sources for batch in inputs])
        return results

    def _array(self, index: int, batch: Batch) -> jax.Array:
        if not batch.is_uniform():
            raise OperatorError(
                f"input {index} is a batch of samples with different shapes, which cannot be one JAX array; pad or"
                " resize them"
            )
        # The function may keep what it is given, so the memory of the batch is not shared.
        array = jax.numpy.array(batch.stacked(), copy=True)
        sharding = self.value("sharding")
        return array if sharding is None else jax.device_put(array, sharding)


def _joined(sources: Sequence[Sequence[str] | None]) -> tuple[str, ...] | None:
    """Sources of each sample, joined over all inputs."""
    known = [each for each in sources if each is not None]
    return tuple(";".join(filter(None, names)) for names in zip(*known, strict=True)) if known else None


@overload
def jax_function(
    function: Callable[..., Any],
    num_outputs: Literal[1] = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: object = None,
    device: str | None = None,
    preserve: bool = True,
) -> Callable[..., DataNode]: ...
@overload
def jax_function(
    function: Callable[..., Any],
    num_outputs: int,
    output_layouts: str | Sequence[str] | None = None,
    sharding: object = None,
    device: str | None = None,
    preserve: bool = True,
) -> Callable[..., Any]: ...
@overload
def jax_function(
    function: None = None,
    num_outputs: int = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: object = None,
    device: str | None = None,
    preserve: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def jax_function(
    function: Callable[..., Any] | None = None,
    num_outputs: int = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: object = None,
    device: str | None = None,
    preserve: bool = True,
) -> Any:
    """Turn a function on JAX arrays into one that is called on nodes.

    Parameters
    ----------
    function
        Gets a ``jax.Array`` for each node: a batch, whose samples have one shape. Gives an array, or a tuple of them,
        with as many samples.
    num_outputs
        Number of arrays that it gives.
    output_layouts
        Layout of all outputs, or of each. Otherwise an output has the layout of the input in its place, if that has as
        many dimensions.
    sharding
        A ``jax.sharding.Sharding`` for the arrays.
    device
        Where the node is placed; by default where its inputs are.
    preserve
        Run it even if nothing uses its outputs.
    """
    if function is None:
        return functools.partial(
            jax_function,
            num_outputs=num_outputs,
            output_layouts=output_layouts,
            sharding=sharding,
            device=device,
            preserve=preserve,
        )
    options: dict[str, Any] = {
        "function": function,
        "num_outputs": num_outputs,
        "output_layouts": output_layouts,
        "sharding": sharding,
        "device": device,
        "preserve": preserve,
    }

    @functools.wraps(function)
    def on_nodes(*inputs: object) -> Any:
        return traced_call(find_operator("jax_function"), inputs, options)

    return on_nodes


__all__ = ["jax_function"]
