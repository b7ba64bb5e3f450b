"""Tracing: Python calls to a graph. ``fn`` calls record themselves; the outputs decide which nodes belong to it."""

from __future__ import annotations

import contextlib
import itertools
import reprlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dali_lab.graph.dali_names import made_up_name
from dali_lab.graph.graph import Edge, Graph, Node, unique_name
from dali_lab.graph.naming import suggested_name, suggested_names, suggesting
from dali_lab.graph.recorder import DataNode, OpCall, Recorder
from dali_lab.model.errors import (
    ArgumentError,
    ArgumentTypeError,
    DaliLabError,
    GraphError,
    UnknownArgumentError,
    nearest,
)
from dali_lab.model.scalars import ScalarConstant
from dali_lab.model.user_code import user_frame, user_line, user_stacklevel
from dali_lab.schema.arguments import Arg, is_array
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator


def traced_call(operator: type[Operator], inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Implementation of ``fn.<name>(*inputs, **kwargs)``: record a call as the operator asks for it."""
    return operator.python_call(call_operator, inputs, kwargs)


def call_operator(name: str, inputs: Sequence[Any], kwargs: Mapping[str, Any], together: object | None = None) -> Any:
    """Record a call of the operator called `name` under ``fn``.

    `together` is the same for calls that share one seed.

    Returns
    -------
    DataNode or list of DataNode
        One node for each output; a list of them where there is not exactly one.

    Raises
    ------
    GraphError
        With the operator, the argument, the value and the user's line.
    """
    operator = find_operator(name)
    if not operator.takes_sets and any(map(_has_nodes, inputs)):
        raise ArgumentTypeError(
            "takes nodes, not lists of them; call it for each: such operators do not support multiple input sets",
            operator=name,
            origin=user_line(),
        )
    if any(map(_is_set, inputs)):
        return _call_on_sets(name, inputs, kwargs)
    try:
        call = _record(operator, inputs, kwargs)
        call.together = together
    except DaliLabError as error:
        error.operator = error.operator or operator.name
        error.node = error.node or kwargs.get("name")
        error.origin = error.origin or user_line()
        raise
    device = "gpu" if call.device == "mixed" else call.device
    recorder = call.recorder
    if recorder is None:
        nodes = tuple(DataNode(call, index, device) for index in range(call.outputs))
    else:
        nodes = recorder.results(call, device)
        if call.preserve or not nodes:
            recorder.sinks.append(DataNode(call, 0, device))
    return nodes[0] if len(nodes) == 1 else list(nodes)


def _has_nodes(item: object) -> bool:
    return isinstance(item, list) and any(isinstance(each, DataNode) for each in item)


def _is_set(item: Any) -> bool:
    """Whether an input is a list of nodes, and perhaps constants, that stands for several calls."""
    return _has_nodes(item) and all(isinstance(each, (DataNode, ScalarConstant)) for each in item)


def _call_on_sets(name: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Apply the operator to each set of inputs in turn, where lists of nodes were passed; all share one seed."""
    counts = {len(item) for item in inputs if _is_set(item)}
    if len(counts) != 1:
        raise GraphError("lists of inputs must have the same length", operator=name, origin=user_line())
    sets = [[item[i] if _is_set(item) else item for item in inputs] for i in range(counts.pop())]
    if len(sets) == 1:
        return call_operator(name, sets[0], kwargs)
    together = object()
    others = {key: value for key, value in kwargs.items() if key != "name"}
    variables = suggested_names(user_frame(), len(sets))
    results = []
    for index, each in enumerate(sets):
        # An explicit name belongs to the first; the others get it with a number.
        called = kwargs.get("name") or (variables[index] if variables else None)
        with suggesting(called) if called else contextlib.nullcontext():
            results.append(call_operator(name, each, others if index else kwargs, together))
    if isinstance(results[0], list):
        return [list(column) for column in zip(*results, strict=True)]
    return results


def _record(operator: type[Operator], inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> OpCall:
    recorder = Recorder.current()
    nodes = tuple(_as_node(operator, item, index) for index, item in enumerate(inputs))
    check_input_count(operator, len(nodes))
    arguments, connections, own_name, preserve, device = _sort_arguments(operator, kwargs, recorder)
    if device is None:
        device = "gpu" if any(node.device == "gpu" for node in nodes) and "gpu" in operator.devices else "cpu"
        if operator.devices and device not in operator.devices:
            device = operator.devices[0]
    if device not in ("cpu", "gpu", "mixed"):
        message = f'Unsupported device type: "{device}". Valid options are "cpu", "gpu" or "mixed"'
        raise ArgumentError(message, argument="device")
    if device not in operator.devices:
        offered = " or ".join(map(repr, operator.devices))
        raise ArgumentError(f"this operator runs on {offered}, not on {device!r}", argument="device")
    late = Recorder.checks_late()
    try:
        operator.check_arguments(arguments, connections, len(nodes))
    except (TypeError, ValueError) as error:
        # NVIDIA DALI checks at once what it checks in Python: types, and operators that take Python's objects.
        in_python = any(arg.type == "object" for arg in operator.argument_table.values())
        if not late or in_python or isinstance(error, ArgumentTypeError):
            raise
    if late:
        _check_places(operator, device, nodes, connections)
    else:
        _check_owners(recorder, (*nodes, *connections.values()))
    conditions = recorder.conditions if recorder is not None else None
    if conditions is not None and conditions.depth:
        scope = conditions.scope() if "_scope" in operator.argument_table else None
        if scope is not None:
            connections["_scope"] = scope
        nodes, connections = conditions.enter(nodes, connections)
    call = OpCall(
        operator.name,
        device,
        nodes,
        arguments,
        connections,
        own_name,
        operator.count_outputs(arguments, len(nodes)),
        recorder,
        user_line(),
        preserve,
        suggested_name(user_frame()),
    )
    if conditions is not None:
        conditions.record(call)
    if recorder is not None and own_name is None:
        call.unnamed = recorder.unnamed
        recorder.unnamed += call.outputs if operator.one_for_each_output(arguments) else 1
    return call


def _check_places(
    operator: type[Operator], device: str, nodes: Sequence[DataNode], connections: Mapping[str, DataNode]
) -> None:
    """Raise :class:`GraphError` where data on a GPU is given to what reads it on the CPU."""
    for key, node in connections.items():
        if node.device == "gpu":
            raise ArgumentError(
                f"Invalid device \"gpu\" for argument '{key}' of operator 'nvidia.dali.fn.{operator.name}'. Named"
                " arguments must be on CPU; cpu() copies it",
                argument=key,
            )
    if device == "cpu" and any(node.device == "gpu" for node in nodes):
        for index, node in enumerate(nodes):
            declared = operator.inputs[min(index, len(operator.inputs) - 1)]
            if node.device == "gpu" and declared.device_for(device, node.device) != "gpu":
                raise GraphError(
                    f"input {index} ({declared.name}) of an operator on the CPU is stored on incompatible"
                    ' device "gpu"; cpu() copies it'
                )


def _check_owners(recorder: Recorder | None, nodes: Iterable[DataNode]) -> None:
    for node in nodes:
        other = node.source.recorder
        if recorder is not None and other is not None and other is not recorder:
            raise GraphError(
                f"{node.name} belongs to another pipeline; a node can be used only where it was made. The pipeline is"
                " invalid because it contains operators with non-unique names",
                origin=node.source.origin,
            )


def check_input_count(operator: type[Operator], count: int) -> None:
    """Raise :class:`ArgumentTypeError` if the operator cannot take this number of inputs."""
    least = sum(not declared.optional for declared in operator.inputs)
    variadic = bool(operator.inputs) and operator.inputs[-1].variadic
    if count < least or (count > len(operator.inputs) and not variadic):
        exact = str(least) if least == len(operator.inputs) else f"{least} to {len(operator.inputs)}"
        most = f"{least} or more" if variadic else exact
        names = ", ".join(declared.name for declared in operator.inputs)
        plural = "" if most == "1" else "s"
        raise ArgumentTypeError(
            f"takes {most} input{plural}{f' ({names})' if names else ''}, got {count}."
            f" Operator nvidia.dali.fn.{operator.name} expects from {least} to"
            f" {99 if variadic else len(operator.inputs)} inputs, but received {count}",
            operator=operator.name,
            code="input_count",
        )


def _as_node(operator: type[Operator], item: object, index: int) -> DataNode:
    if isinstance(item, DataNode):
        return item
    from dali_lab.graph.constants import implied_constant

    recorder = Recorder.current()
    adopted = recorder.adopted(item) if recorder is not None else None
    if adopted is not None:
        return adopted

    plain = isinstance(item, (bool, int, float, ScalarConstant, np.ndarray, np.generic, list, tuple)) or hasattr(
        item, "__array__"
    )
    if isinstance(item, ScalarConstant):
        return implied_constant(item.value, dtype=item.dtype, shape=())
    why = ""
    nested = isinstance(item, (list, tuple)) and any(isinstance(x, (list, tuple)) for x in item)
    if plain and not nested:
        try:
            return implied_constant(item)
        except (TypeError, ValueError, OverflowError) as error:
            why = f": {error}"
    name = operator.inputs[min(index, len(operator.inputs) - 1)].name if operator.inputs else str(index)
    raise ArgumentTypeError(
        f"input {index} ({name}) is {reprlib.repr(item)} ({type(item).__name__}){why}; expected inputs of"
        " type 'DataNode', list of 'DataNode' or convertible to constant nodes.",
        operator=operator.name,
    )


def _sort_arguments(
    operator: type[Operator], kwargs: Mapping[str, Any], recorder: Recorder | None
) -> tuple[dict[str, Any], dict[str, DataNode], str | None, bool, str | None]:
    from dali_lab.graph.constants import implied_constant

    arguments: dict[str, Any] = {}
    connections: dict[str, DataNode] = {}
    name: str | None = None
    device: str | None = None
    preserve = False
    for key, value in kwargs.items():
        if value is None:
            continue
        if key == "device":
            device = str(value)
            continue
        arg = _declared(operator, key, kwargs, recorder)
        if arg is None:
            continue
        key = arg.name
        if arg.tensor and recorder is not None and not isinstance(value, DataNode):
            adopted = recorder.adopted(value)
            value = value if adopted is None else adopted
        if arg.tensor and is_array(value) and np.shape(value) not in (((),) if arg.arrays_are_nodes else ((), (1,))):
            # An array of more than one number stands for a constant node.
            value = implied_constant(value)
        if isinstance(value, DataNode):
            if not arg.tensor:
                raise ArgumentTypeError(
                    "must be a constant; it should not be a 'DataNode'",
                    operator=operator.name,
                    argument=key,
                    code="argument_constant",
                )
            connections[key] = value
            continue
        if isinstance(value, (list, tuple)) and any(isinstance(item, DataNode) for item in value):
            raise ArgumentTypeError(
                "mixes numbers and DataNodes in a list; join them with fn.stack first"
                if arg.tensor
                else "must be a list of constants, not of DataNodes",
                operator=operator.name,
                argument=key,
            )
        try:
            canonical = arg.canonical(value)
        except ArgumentTypeError:
            raise
        except ArgumentError:
            if not Recorder.checks_late():
                raise
            canonical = value
        if canonical is None:
            continue
        if key == "name":
            name = canonical or None
        elif key == "preserve":
            preserve = canonical
        elif key != "bytes_per_sample_hint":
            arguments[key] = canonical
    for key, arg in operator.argument_table.items():
        if arg.required and key not in arguments and key not in connections:
            raise ArgumentTypeError(
                f'must be given. Not all required arguments were specified for op "{operator.schema_name}".'
                f' Please specify values for arguments: "{key}"',
                operator=operator.name,
                argument=key,
                code="argument_missing",
            )
    return arguments, connections, name, preserve, device


def _declared(operator: type[Operator], key: str, kwargs: Mapping[str, Any], recorder: Recorder | None) -> Arg | None:
    """The argument that a keyword names, by its present name; `None` for one without effect."""
    arg = operator.argument_table.get(key)
    if arg is None:
        if recorder is not None and recorder.ignores(operator, key):
            return None
        known = [*(key for key, each in operator.argument_table.items() if each.listed), "device"]
        raise UnknownArgumentError(
            f'Argument "{key}" is not defined for operator "{operator.schema_name}"{nearest(key, known)}',
            operator=operator.name,
            argument=key,
        )
    if arg.removed:
        _warn_of_removed(key)
        return None
    if not arg.renamed_to:
        return arg
    message = f"The argument `{key}` is a deprecated alias for `{arg.renamed_to}`. Use `{arg.renamed_to}` instead."
    warnings.warn(message, DeprecationWarning, stacklevel=user_stacklevel())
    if arg.renamed_to in kwargs:
        raise ArgumentTypeError(f"unexpected argument '{key}' beside its successor '{arg.renamed_to}'", argument=key)
    return operator.argument_table[arg.renamed_to]


def _warn_of_removed(key: str) -> None:
    message = f"The argument `{key}` is no longer used and will be removed in a future release."
    if key == "seed":
        message = 'The argument "seed" should not be used with operators that don\'t use random numbers.'
    warnings.warn(message, DeprecationWarning, stacklevel=user_stacklevel())


def build_graph(
    outputs: Sequence[DataNode], sinks: Iterable[DataNode] = (), pipeline: Mapping[str, Any] | None = None
) -> Graph:
    """Collect the calls that the outputs depend on into a graph, in call order."""
    sinks = list(sinks)
    kept = {node.source.number for node in sinks}
    calls = _calls_for((*outputs, *sinks))
    for call in calls:
        _check_owners(call.recorder, (*call.inputs, *call.connections.values()))
    names = _name_calls(calls)
    groups = _groups(calls)

    def edge(node: DataNode, *, to_output: bool = False) -> Edge:
        made_on = "gpu" if node.source.device == "mixed" else node.source.device
        moved = node.device if to_output and node.device != made_on else ""
        return Edge(names[node.source.number], node.index, moved)

    nodes = {}
    for call in calls:
        call.placed = names[call.number]
        arguments = {**call.arguments, **groups.get(call.number, {})}
        if call.preserve or call.number in kept:
            arguments["preserve"] = True
        nodes[call.placed] = Node(
            call.placed,
            call.op,
            call.device,
            tuple(edge(node) for node in call.inputs),
            arguments,
            {key: edge(node) for key, node in call.connections.items()},
            call.origin,
        )
    return Graph(nodes, tuple(edge(node, to_output=True) for node in outputs), pipeline or {})


def _calls_for(nodes: Iterable[DataNode]) -> list[OpCall]:
    """The calls that nodes depend on, in call order."""
    calls: dict[int, OpCall] = {}
    stack = [node.source for node in nodes]
    while stack:
        call = stack.pop()
        if call.number not in calls:
            calls[call.number] = call
            stack.extend(node.source for node in (*call.inputs, *call.connections.values()))
    return [calls[number] for number in sorted(calls)]


def _groups(calls: Iterable[OpCall]) -> dict[int, dict[str, int]]:
    """For each call that draws a seed, the argument that links it to the calls that share its seed."""
    members: dict[object, list[OpCall]] = {}
    taken = set()
    for call in calls:
        taken.add(call.arguments.get("_group"))
        drawing = "_group" in find_operator(call.op).argument_table
        if call.together is not None and drawing and not {"_group", "seed"} & call.arguments.keys():
            members.setdefault(call.together, []).append(call)
    free = (number for number in itertools.count(1) if number not in taken)
    return {
        call.number: {"_group": number}
        for number, group in zip(free, (each for each in members.values() if len(each) > 1), strict=False)
        for call in group
    }


def dali_names(outputs: Sequence[DataNode]) -> dict[str, str]:
    """NVIDIA DALI's names for the operators of nodes that were built without an explicit name."""
    return {call.placed: made_up_name(call.op, call.unnamed) for call in _calls_for(outputs) if call.unnamed >= 0}


def _name_calls(calls: Sequence[OpCall]) -> dict[int, str]:
    asked: dict[str, OpCall] = {}
    for call in calls:
        if call.name is None:
            continue
        name = call.within + call.name
        if name in asked:
            raise GraphError(
                f"two nodes are called '{name}': fn.{asked[name].op} and fn.{call.op}; names must be unique",
                node=name,
                origin=call.origin,
            )
        asked[name] = call
    taken: dict[str, Any] = dict(asked)
    names = {}
    for call in calls:
        if call.name is not None:
            names[call.number] = call.within + call.name
            continue
        name = unique_name(call.within + (call.suggested or call.op.rsplit(".", 1)[-1].strip("_")), taken)
        taken[name] = call
        names[call.number] = name
    return names
