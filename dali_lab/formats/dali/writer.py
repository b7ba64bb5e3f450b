"""NVIDIA DALI's serialized form, which its ``Pipeline.serialize`` writes and ``Pipeline.deserialize`` reads.

Parts of a graph that the form has no field for (positions, notes, Python objects) are in one that NVIDIA DALI ignores.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from dali_lab.formats import values
from dali_lab.formats.dali import arguments as dali_arguments
from dali_lab.formats.dali.arguments import Unwritable
from dali_lab.formats.dali.messages import messages
from dali_lab.formats.exported import exported, refuse, without_caches
from dali_lab.graph.dali_names import (
    Names,
    count_outputs,
    distinct_names,
    operator_names,
    output_name,
    schema_name,
)
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.meaning import DEFAULT_SETTINGS, meaningful_settings
from dali_lab.graph.settings import check_settings
from dali_lab.model import dtypes
from dali_lab.model.errors import ArgumentError, FormatError
from dali_lab.schema.arguments import Arg
from dali_lab.schema.registry import find_operator, has_operator, known_operator

CPU_ONLY = dtypes.CPU_ONLY_DEVICE_ID
PIPELINED, ASYNC, SEPARATED, DYNAMIC = 1, 2, 4, 8
DEFAULT_FLAGS = 4
_SOURCE_ARGUMENTS = {"layout": str, "dtype": dtypes.DALIDataType, "ndim": int}
"""Arguments of an external source that describe its output, and the types that are read back."""
_SETTINGS = frozenset(
    {
        "batch_size", "num_threads", "device_id", "seed", "enable_checkpointing", "prefetch_queue_depth",
        "exec_pipelined", "exec_async", "exec_dynamic", "executor_flags", "bytes_per_sample",
        "output_dtype", "output_ndim", "output_layout",
    }
)  # fmt: skip
"""Settings that the form has fields for."""


def dumps(graph: Graph, names: Names | None = None) -> bytes:
    """The graph in NVIDIA DALI's serialized form.

    An external source with several outputs becomes several, as NVIDIA DALI has it. Python objects, positions and notes
    are kept where NVIDIA DALI does not look.

    Parameters
    ----------
    names
        Names of operators by node, where they are not the nodes' names.

    Raises
    ------
    FormatError
        If the graph is unfinished, or has operators that NVIDIA DALI does not have; the message lists them.
    """
    whole = graph
    graph = _without_unknown(graph)
    graph = graph if graph is not whole else exported(graph)
    graph = without_caches(graph)
    refuse(graph, lambda operator: "an operator of DALI Lab alone" if operator.beyond_dali else "", "NVIDIA DALI")
    writer = _Writer(graph, names or {})
    return writer.message().SerializeToString(deterministic=True)  # type: ignore[no-any-return]


def loads(data: bytes, *, friendly: bool = False) -> Graph:
    """The graph of a serialized pipeline; see :func:`read`."""
    return read(data, friendly=friendly)[0]


def read(data: bytes, *, friendly: bool = False) -> tuple[Graph, dict[str, str]]:
    """The graph of a serialized pipeline, and the stored names of operators whose nodes are called otherwise here.

    Nothing in it is executed or unpickled.

    Operators and arguments that are not known here are kept as they are.

    Parameters
    ----------
    friendly
        Give nodes that NVIDIA DALI named (``__Rotate_2``) shorter names, in place of the ones in the file.

    Raises
    ------
    FormatError
        If it is truncated or something else.
    """
    from dali_lab.formats.dali.reader import Reader

    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise FormatError(f"a serialized pipeline is bytes, not {type(data).__name__}")
    from google.protobuf.message import DecodeError

    try:
        message = messages().PipelineDef.FromString(bytes(data))
    except (DecodeError, ValueError, RuntimeError) as error:
        raise FormatError(
            "Error parsing serialized pipeline: this is not NVIDIA DALI's serialized form, or it was cut off"
        ) from error
    if not message.op and not message.external_inputs:
        raise FormatError(
            "Error parsing serialized pipeline: this is not NVIDIA DALI's serialized form, or has no operators"
        )
    _check_texts(message)
    reader = Reader(message, friendly)
    return reader.graph(), reader.operator_names()


def _check_texts(message: Any) -> None:
    """Refuse names that are no UTF-8, which the protobuf library hands out as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            for text in (value,) if isinstance(value, (str, bytes)) else value:
                if not isinstance(text, str):
                    raise FormatError(
                        f"this is not a pipeline in NVIDIA DALI's serialized form: {field.name} is not text"
                    )
        elif field.type == field.TYPE_MESSAGE:
            for item in value:
                _check_texts(item)


def _without_unknown(graph: Graph) -> Graph:
    """The same graph if all its operators are known; else one that is written as it is, unchecked."""
    if all(has_operator(node.op) for node in graph.nodes.values()):
        return graph
    return graph.replaced(view=dict(graph.view))


class _Writer:
    def __init__(self, graph: Graph, names: Names) -> None:
        self.graph = graph
        self.names = distinct_names(graph, names)
        self.kept: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, list[str]] = {}

    def message(self) -> Any:
        graph = self.graph
        pipeline = messages().PipelineDef()
        self._settings(pipeline)
        groups: dict[int, int] = {}
        for number, name in enumerate(_order(graph)):
            group = graph.nodes[name].arguments.get("_group")
            for operator in self._operators(graph.nodes[name]):
                operator.logical_id = number if group is None else groups.setdefault(group, number)
                pipeline.op.append(operator)
        self._outputs(pipeline)
        rest: dict[str, Any] = {}
        if graph.view:
            rest["view"] = values.encode(dict(graph.view))
        if self.kept:
            rest["arguments"] = {node: dict(sorted(kept.items())) for node, kept in self.kept.items()}
        if self.groups:
            rest["groups"] = self.groups
        if renamed := {name: node for node, name in self.names.items() if node in graph.nodes and name != node}:
            rest["names"] = renamed
        settings = meaningful_settings(graph.pipeline)
        if beyond := {key: values.encode(value) for key, value in settings.items() if key not in _SETTINGS}:
            rest["pipeline"] = beyond
        if rest:
            pipeline.dali_lab = json.dumps(rest, separators=(",", ":")).encode()
        return pipeline

    def _outputs(self, pipeline: Any) -> None:
        graph = self.graph
        names = [f"output_{key}" for key in ("dtype", "ndim", "layout")]
        try:
            described = [_listed(graph.pipeline.get(name), len(graph.outputs)) for name in names]
            for edge, dtype, ndim, layout in zip(graph.outputs, *described, strict=True):
                output = pipeline.pipe_outputs.add(
                    name=self._output_name(edge), device=edge.device or _made_on(graph, edge), is_argument_input=False
                )
                output.dtype = -1 if dtype is None else int(dtype)
                output.ndim = -1 if ndim is None else int(ndim)
                if layout is not None:
                    output.layout = layout
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"the settings {', '.join(names)} do not describe the outputs: {error}") from error

    def _settings(self, pipeline: Any) -> None:
        settings = self.graph.pipeline
        try:
            check_settings(settings)
        except ArgumentError as error:
            raise FormatError(f"the setting '{error.argument}' cannot be written: {error.message}") from error
        pipeline.batch_size = settings.get("batch_size") or 1
        pipeline.num_threads = settings.get("num_threads") or DEFAULT_SETTINGS["num_threads"]
        device = settings.get("device_id")
        on_gpu = any(node.device != "cpu" for node in self.graph.nodes.values())
        pipeline.device_id = (0 if on_gpu else CPU_ONLY) if device is None else device
        seed = settings.get("seed")
        pipeline.seed = -1 if seed is None else seed
        pipeline.enable_checkpointing = bool(settings.get("enable_checkpointing", False))
        depth = settings.get("prefetch_queue_depth", 2)
        separated = isinstance(depth, Mapping)
        depths = (depth["cpu_size"], depth["gpu_size"]) if separated else (depth, depth)
        pipeline.prefetch_queue_depth_cpu, pipeline.prefetch_queue_depth_gpu = depths
        pipelined, in_background = settings.get("exec_pipelined", True), settings.get("exec_async", True)
        dynamic = settings.get("exec_dynamic")
        dynamic = (pipelined and in_background and not separated) if dynamic is None else dynamic
        pipeline.executor_type = (
            PIPELINED * bool(pipelined) | ASYNC * bool(in_background) | SEPARATED * separated | DYNAMIC * bool(dynamic)
        )
        pipeline.executor_flags = settings.get("executor_flags", DEFAULT_FLAGS)
        hint = settings.get("bytes_per_sample", 0)
        pipeline.bytes_per_sample_hint = hint if isinstance(hint, int) else 0

    def _operators(self, node: Node) -> list[Any]:
        operator = known_operator(node.op)
        if operator is not None and operator.one_for_each_output(node.arguments):
            return self._sources(node)
        message = messages().OpDef(name=schema_name(node.op), inst_name=self.names.get(node.id, node.id))
        for edge in node.inputs:
            message.input.add(name=self._output_name(edge), device=_input_device(node), is_argument_input=False)
        for name in sorted(node.connections):
            edge = node.connections[name]
            message.input.add(name=self._output_name(edge), device="cpu", is_argument_input=True, arg_name=name)
        made_on = "cpu" if node.device == "cpu" else "gpu"
        for index in range(count_outputs(self.graph, node)):
            message.output.add(name=self._output_name(Edge(node.id, index)), device=made_on, is_argument_input=False)
        message.args.append(dali_arguments.write("device", node.device))
        self._arguments(message, node)
        return [message]

    def _arguments(self, message: Any, node: Node) -> None:
        arguments = {key: value for key, value in node.arguments.items() if value is not None}
        operator = known_operator(node.op)
        if operator is not None and operator.syntax == "arithmetic":
            try:
                message.args.extend(dali_arguments.write_expression(node.op, arguments, len(node.inputs)))
            except Unwritable as error:
                raise FormatError(f"{node.id}: {error}") from error
            message.args.append(dali_arguments.write("preserve_name", False))
            return
        table = operator.argument_table if operator is not None else {}
        for name, value in arguments.items():
            if name in ("name", "device", "preserve_name"):
                continue
            arg = table.get(name)
            if operator is not None and operator.serialized_arguments and name in _SOURCE_ARGUMENTS:
                if value is not None and type(value) is not _SOURCE_ARGUMENTS[name]:
                    self.kept.setdefault(node.id, {})[name] = values.encode(value, arg)
                value, arg = _one(value[0] if isinstance(value, tuple) and len(value) == 1 else value), None
            self._write(message, node, name, value, arg)
        message.args.append(dali_arguments.write("preserve_name", operator is not None and operator.source))

    def _write(self, message: Any, node: Node, name: str, value: Any, arg: Arg | None) -> None:
        operator = known_operator(node.op)
        serialized = operator.serialized_arguments if operator is not None else None
        try:
            theirs = serialized is None or name in serialized
            if name == "_group" or not theirs or (arg is not None and arg.beyond_dali):
                raise Unwritable("what NVIDIA DALI has no argument for")
            message.args.append(dali_arguments.write(name, value, arg))
        except (Unwritable, TypeError, ValueError, OverflowError):
            self.kept.setdefault(node.id, {}).setdefault(name, values.encode(value, arg))

    def _sources(self, node: Node) -> list[Any]:
        """An external source for each output of one with several."""
        self.groups[node.id] = operator_names(node, self.names)
        result = []
        for index, name in enumerate(self.groups[node.id]):
            message = messages().OpDef(name="ExternalSource", inst_name=name)
            message.output.add(name=name, device=node.device, is_argument_input=False)
            message.args.append(dali_arguments.write("device", node.device))
            for key, value in node.arguments.items():
                if key in _SOURCE_ARGUMENTS and value:
                    each = value[min(index, len(value) - 1)] if isinstance(value, tuple) else value
                    with contextlib.suppress(Unwritable):
                        message.args.append(dali_arguments.write(key, _one(each)))
                if key == "repeat_last":
                    message.args.append(dali_arguments.write(key, bool(value)))
                if index == 0 and value is not None:
                    arg = find_operator(node.op).argument_table.get(key)
                    self.kept.setdefault(node.id, {})[key] = values.encode(value, arg)
            message.args.append(dali_arguments.write("preserve_name", True))
            result.append(message)
        return result

    def _output_name(self, edge: Edge) -> str:
        return output_name(self.graph, edge, self.names)


def _one(value: object) -> Any:
    """A value that describes an output of an external source: an enum value as its number."""
    return int(value) if isinstance(value, dtypes.NamedEnum) else value


def _listed(value: object, count: int) -> list[Any]:
    listed = list(value) if isinstance(value, (list, tuple)) else [value] * count
    return (listed + [None] * count)[:count]


def _made_on(graph: Graph, edge: Edge) -> str:
    node = graph.nodes.get(edge.node)
    return "cpu" if node is None or node.device == "cpu" else "gpu"


def _input_device(node: Node) -> str:
    return "gpu" if node.device == "gpu" else "cpu"


def _order(graph: Graph) -> list[str]:
    """Nodes as NVIDIA DALI writes them: each after its inputs, depth first from the outputs; then the others."""
    result: list[str] = []
    done: set[str] = set()
    for root in [*(edge.node for edge in graph.outputs), *graph.nodes]:
        stack: list[tuple[str, bool]] = [(root, False)]
        while stack:
            name, complete = stack.pop()
            if complete:
                result.append(name)
            elif name in graph.nodes and name not in done:
                done.add(name)
                stack.append((name, True))
                stack.extend((edge.node, False) for edge in reversed(list(graph.nodes[name].edges())))
    return result
