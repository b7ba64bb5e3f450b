"""Calls of operators on tensors and batches, expressions over them, and their indices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from dali_lab.dynamic import direct, kept_calls
from dali_lab.dynamic.batch import Batch, as_batch
from dali_lab.dynamic.dtypes import DType
from dali_lab.dynamic.evaluation import Outcome, Slot
from dali_lab.dynamic.modes import EvalMode
from dali_lab.dynamic.places import Device
from dali_lab.dynamic.places import device as as_device
from dali_lab.dynamic.tensor import Tensor, as_tensor
from dali_lab.dynamic.values import Value
from dali_lab.graph.expressions import is_operand, subscript
from dali_lab.graph.recorder import EXPRESSIONS, DataNode, outside
from dali_lab.graph.tracing import traced_call
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import ArgumentError, GraphError
from dali_lab.model.tensor_list import TensorListCPU
from dali_lab.model.user_code import user_line
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator


def call(
    operator: type[Operator],
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    batch_size: int | None = None,
    place: object = None,
) -> Any:
    """Call an operator on tensors or batches.

    Parameters
    ----------
    inputs
        Tensors, batches, arrays; tensors are repeated where there is a batch among inputs or arguments.
    kwargs
        Arguments: constants, or tensors and batches where the operator takes nodes.
    batch_size
        How many samples, as a batch, where no input is one.
    place
        Where it runs; by default where its first input is.

    Raises
    ------
    ValueError
        If batches have different numbers of samples.
    DaliLabError
        The error of the operator.
    """
    if kwargs.get("on_error") in ("skip", "replace"):
        raise ArgumentError(
            "is for pipelines and readers: the labels and other values of a bad sample, which go with it there, are in"
            " the program's hands here; catch SampleError, whose 'sample' is its index",
            operator=operator.name,
            argument="on_error",
            origin=user_line(),
        )
    given = [each for each in inputs if each is not None]
    arguments = {name: _argument(operator, name, value) for name, value in kwargs.items() if value is not None}
    target = as_device(place)
    if target is not None:
        arguments["device"] = _backend(operator, target)
    elif not given and operator.devices and operator.devices[0] not in ("cpu",):
        arguments["device"] = operator.devices[0]
    names = [name for name, value in arguments.items() if isinstance(value, Value)]

    def recorded(*operands: object) -> Any:
        nodes = operands[: len(given)]
        connected = dict(zip(names, operands[len(given) :], strict=True))
        return traced_call(operator, nodes, {**arguments, **connected})

    values = [_input(each) for each in given]
    if any(isinstance(each, Batch) for each in values):
        batch_size = None
    operands = (*values, *(arguments[name] for name in names))
    about = _about(operator, len(given), arguments)
    return record(recorded, operands, batch_size=batch_size, about=about, state=arguments.get(direct.STATE))


def _about(operator: type[Operator], inputs: int, arguments: Mapping[str, Any]) -> Hashable:
    """The key of a call, besides its operands; `None` if it is to be recorded each time."""
    table = operator.argument_table
    constants: list[Hashable] = [operator.name, inputs]
    for name, value in arguments.items():
        if name == direct.STATE:
            continue
        arg = table.get(name)
        if arg is not None and (arg.removed or arg.renamed_to):  # says so at each line that uses it
            return None
        constant = name if isinstance(value, Value) else direct.plain(value)
        if constant is None:
            return None
        constants.append((name, constant))
    return tuple(constants)


def by_name(name: str, *inputs: object, **arguments: object) -> Any:
    """Call the operator of a name on tensors or batches."""
    return call(find_operator(name), inputs, arguments)


def expression(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Call a function of nodes on tensors, batches and numbers, which must be on one device.

    Raises
    ------
    ValueError
        If they are not, or batches have different numbers of samples.
    """
    if len({each.slot.device for each in operands if isinstance(each, Value)}) > 1:
        raise ValueError("operands are on the CPU and on the GPU; cpu() and gpu() copy them")
    return record(function, operands, about=function)


def record(
    function: Callable[..., Any],
    operands: Sequence[Any],
    *,
    batch_size: int | None = None,
    about: Hashable = None,
    state: Any = None,
) -> Any:
    """Call `function` with the symbols of tensors and batches, and wrap the symbols that it returns.

    Other operands are passed on as they are, but for lists and arrays, which become tensors.

    Parameters
    ----------
    batch_size
        For calls without tensors and batches: how many samples, as a batch.
    about
        What tells `function` from others, if calls like this one may be run as it was recorded.
    state
        The state of the generator that random numbers are drawn from.
    """
    items = [_operand(each) for each in operands]
    sizes = [each.batch_size for each in items if isinstance(each, Batch)]
    sizes += [] if batch_size is None else [batch_size]
    count = sizes[0] if sizes else None
    other = next((size for size in sizes if size != count), None)
    if other is not None:
        raise ValueError(f"Inconsistent batch size: {other} != {count} samples")
    kind = Tensor if count is None else Batch
    immediate = EvalMode.current() is not EvalMode.deferred
    key = direct.key_of(about, items, count) if about is not None and immediate else None
    kept = kept_calls.find(key, direct.DirectCall) if key is not None else None
    if kept is not None and kept.suits(items, count):
        return kept.arrange([kind._holding(each) for each in kept.run(items, count, state)])
    symbols = [_symbol(each, count) if isinstance(each, Value) else each for each in items]
    with outside():
        found = function(*symbols)
    if found is NotImplemented:
        return found
    for item, symbol in zip(items, symbols, strict=True):
        if found is symbol:
            return item
    nodes, arrange = _arrangement(found)
    made = direct.prepared(nodes, symbols, arrange) if immediate and kept is None else None
    if made is not None and key is not None:
        kept_calls.keep(key, made)
    if made is not None and made.suits(items, count):
        return arrange([kind._holding(each) for each in made.run(items, count, state)])
    outcome = Outcome(nodes, 1 if count is None else count)
    if immediate:
        outcome.evaluate()
    return arrange([kind._of_call(outcome, index) for index in range(len(nodes))])


def _arrangement(found: Any) -> tuple[list[DataNode], Callable[[Sequence[Value]], Any]]:
    """The nodes that recording a call gave, and what arranges results in their place as the call returns them."""
    if isinstance(found, dict):
        keys = list(found)
        return list(found.values()), lambda results: dict(zip(keys, results, strict=True))
    if isinstance(found, (list, tuple)):
        return list(found), tuple
    return [found], itemgetter(0)


def _operand(item: object) -> Any:
    if isinstance(item, DataNode):
        raise GraphError(f"takes tensors and batches; {item.name} is a node of a pipeline, which is for fn")
    if isinstance(item, Value) or not is_operand(item) or isinstance(item, (bool, int, float, np.generic)):
        return item
    return as_tensor(item)


def _input(item: object) -> Any:
    if isinstance(item, (Value, DataNode)):
        return item
    return as_batch(item) if isinstance(item, TensorListCPU) else as_tensor(item)


def _argument(operator: type[Operator], name: str, value: object) -> Any:
    """An argument as operators take it: types are plain, and tensors of the argument's type."""
    if isinstance(value, DType):
        return value.element
    if isinstance(value, Device):
        return value.device_type
    if isinstance(value, TensorListCPU):
        value = as_batch(value)
    arg = operator.argument_table.get(name)
    wanted = arg.fed_types() if arg is not None and arg.tensor else ()
    if not wanted or not (isinstance(value, Value) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")):
        return value
    found = value if isinstance(value, Value) else as_tensor(value)
    # A result that is not there yet is converted later.
    return found if found.slot.batch is not None and found.slot.batch.dtype in wanted else _cast(found, wanted[0])


def fed(operator: type[Operator], name: str, value: object, count: int) -> TensorListCPU:
    """The values of an argument for a number of samples, in a type that the operator takes from a node."""
    given = _argument(operator, name, value if isinstance(value, Value) else np.asarray(value))
    if not isinstance(given, Value):
        raise ArgumentError("is given to the reader, not to its calls", argument=name, operator=operator.name)
    samples = _symbol(given.evaluate(), count).batch
    assert samples is not None
    return TensorListCPU(samples)


def _cast(value: Value, dtype: DALIDataType) -> Any:
    return by_name("cast", value, dtype=dtype)


def _symbol(value: Value, count: int | None) -> Slot:
    """The symbol of a value, repeated for each sample of a batch if it is a tensor beside one."""
    if isinstance(value, Batch) or count is None:
        return value.slot
    return Slot.of(value.samples.take(np.zeros(count, np.int64)), value.slot.device)


def _backend(operator: type[Operator], place: Device) -> str:
    """The placement of an operator on a device: ``"mixed"`` if it reads on the CPU and writes on the GPU."""
    if place.device_type == "gpu" and "gpu" not in operator.devices and "mixed" in operator.devices:
        return "mixed"
    if operator.devices and place.device_type not in operator.devices:
        offered = " or ".join("'gpu'" if name == "mixed" else repr(name) for name in operator.devices)
        raise ArgumentError(f"runs on {offered}, not on {str(place)!r}", argument="device", operator=operator.name)
    return place.device_type


def subscripted(value: Value, index: object) -> Any:
    """``value[index]``, sample by sample for a batch.

    Raises
    ------
    IndexError
        If ``...`` stands there more than once.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    if sum(item is ... for item in items) > 1:
        raise IndexError("an index can only have a single '...'")
    if any(item is ... for item in items):
        place = next(number for number, item in enumerate(items) if item is ...)
        items[place : place + 1] = [slice(None)] * (value.ndim - len(items) + 1)
    if all(isinstance(item, slice) and item.start is item.stop is item.step is None for item in items):
        return value
    parts = [(item.start, item.stop, item.step) if isinstance(item, slice) else (item,) for item in items]
    bounds = [bound for part in parts for bound in part if isinstance(bound, Value)]

    def recorded(node: DataNode, *nodes: DataNode) -> Any:
        rest = iter(nodes)
        filled = [[next(rest) if isinstance(bound, Value) else bound for bound in part] for part in parts]
        return subscript(node, tuple(slice(*part) if len(part) == 3 else part[0] for part in filled))

    constants = direct.plain([[None if isinstance(bound, Value) else bound for bound in part] for part in parts])
    places = tuple(isinstance(bound, Value) for part in parts for bound in part)
    return record(recorded, (value, *bounds), about=None if constants is None else ("[]", constants, places))


def _expression(name: str, recorded: Callable[..., DataNode]) -> Callable[..., Any]:
    def method(self: Value, *others: object) -> Any:
        return expression(recorded, (self, *others))

    method.__name__ = name
    return method


for _name, _recorded in EXPRESSIONS.items():
    setattr(Value, _name, _expression(_name, _recorded))
