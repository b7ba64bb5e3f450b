"""From the messages of NVIDIA DALI's serialized form to a graph."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

from dali_lab.formats import values
from dali_lab.formats.dali import arguments as dali_arguments
from dali_lab.graph.graph import Edge, Graph, Node, unique_name
from dali_lab.graph.naming import is_reserved
from dali_lab.model import dtypes
from dali_lab.model.errors import FormatError
from dali_lab.model.promotion import OPERAND_LETTERS, constant_dtype
from dali_lab.schema.aliases import BY_SCHEMA_NAME
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator, has_operator

_PIPELINED, _ASYNC, _SEPARATED, _DYNAMIC = 1, 2, 4, 8
_IGNORED = re.compile(r"_origin\w*|_module|_display_name|preserve_name|device")
_MOST_ORIGIN = 300


class Reader:
    """Reads one pipeline.

    Parameters
    ----------
    message
        A ``PipelineDef``.
    friendly
        Rename nodes that NVIDIA DALI named.
    """

    def __init__(self, message: Any, friendly: bool) -> None:
        self.message = message
        self.friendly = friendly
        self.nodes: dict[str, Node] = {}
        self.edges: dict[str, Edge] = {}
        self.names: dict[int, str] = {}
        self.rest = self._rest()

    def graph(self) -> Graph:
        """The graph.

        Raises
        ------
        FormatError
            If parts are damaged.
        """
        self._name_all()
        for name in self.message.external_inputs:
            if name not in self.edges:
                self._add(Node(unique_name(name or "input", self.nodes), "external_source"))
                self.edges[name] = Edge(next(reversed(self.nodes)))
        for number, operator in enumerate(self.message.op):
            if number in self.names:
                self._read_operator(operator, self.names[number])
        outputs = tuple(self._output(output) for output in self.message.pipe_outputs)
        self._share_seeds()
        graph = Graph(self.nodes, outputs, self._settings(), self._view())
        return self._grouped(graph)

    def operator_names(self) -> dict[str, str]:
        """Names of operators in the message, by the nodes that have other names in the graph."""
        called = {self.names[number]: self.message.op[number].inst_name for number in self.names}
        called.update({name: members[0] for name, members in self._groups().items()})
        return {node: name for node, name in called.items() if name and name != node}

    def _share_seeds(self) -> None:
        """Operators of one logical number have one seed: a single call on lists of inputs made them."""
        members: dict[int, list[Node]] = {}
        for number, name in self.names.items():
            node = self.nodes.get(name)
            drawing = node is not None and has_operator(node.op) and "_group" in find_operator(node.op).argument_table
            if node is not None and drawing and not {"_group", "seed"} & node.arguments.keys():
                members.setdefault(self.message.op[number].logical_id, []).append(node)
        members.pop(-1, None)
        taken = {node.arguments.get("_group") for node in self.nodes.values()}
        free = (number for number in itertools.count(1) if number not in taken)
        for group in members.values():
            if len(group) > 1:
                own = next(free)
                self.nodes.update(
                    {node.id: node.replaced(arguments={**node.arguments, "_group": own}) for node in group}
                )

    def _rest(self) -> dict[str, Any]:
        """The content of this package's own field; empty where it is damaged."""
        if not self.message.HasField("dali_lab"):
            return {}
        try:
            rest = json.loads(self.message.dali_lab)
        except (ValueError, RecursionError):
            return {}
        return rest if isinstance(rest, dict) else {}

    def _kept(self, part: str) -> dict[str, Any]:
        found = self.rest.get(part)
        return found if isinstance(found, dict) else {}

    def _groups(self) -> dict[str, list[str]]:
        """External sources with several outputs: the operators that each of them became."""
        found = self._kept("groups")
        return {
            name: members
            for name, members in found.items()
            if isinstance(members, list) and members and all(isinstance(member, str) for member in members)
        }

    def _name_all(self) -> None:
        """Names of all nodes and what their outputs are called, before anything refers to them."""
        taken: dict[str, None] = {}
        kept = self._kept("names")
        grouped = set(itertools.chain.from_iterable(self._groups().values()))
        for number, operator in enumerate(self.message.op):
            if not operator.name:
                raise FormatError(f"the operator number {number} has no name")
            if operator.name == "MakeContiguous" and len(operator.input) == 1 and len(operator.output) == 1:
                continue
            wanted = operator.inst_name or (re.sub(r"\[\d+\]$", "", operator.output[0].name) if operator.output else "")
            wanted = wanted or operator.name
            if wanted in grouped:
                pass  # it becomes part of a node with a name of its own
            elif isinstance(own := kept.get(wanted), str) and own:
                wanted = own
            elif self.friendly and re.fullmatch(r"__+\w+_\d+(\[\d+\])?", wanted):
                wanted = self._friendly_name(operator)
            name = unique_name(wanted, taken)
            taken[name] = None
            self.names[number] = name
            for index, output in enumerate(operator.output):
                self.edges.setdefault(output.name, Edge(name, index))
        for operator in self.message.op:
            # Copies that older versions put before outputs; here every batch is as it should be.
            if operator.name == "MakeContiguous" and len(operator.input) == 1 and len(operator.output) == 1:
                self.edges[operator.output[0].name] = self._edge(operator.input[0].name)

    def _friendly_name(self, operator: Any) -> str:
        if operator.name == "_ArithmeticGenericOp":
            text = next((_text(item) for item in operator.args if item.name == "expression_desc"), "")
            return text.partition("(")[0] or "expression"
        kind, _ = _known(operator.name)
        op = kind.name if kind else operator.name
        plain = re.split(r"\.|__", op)[-1].strip("_")
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower()
        return f"{plain}_node" if is_reserved(plain) else plain or "node"

    def _edge(self, name: str) -> Edge:
        found = self.edges.get(name)
        if found is not None:
            return found
        match = re.fullmatch(r"(.+)\[(\d{1,4})\]", name, re.DOTALL)
        return Edge(match[1], int(match[2])) if match else Edge(name)

    def _add(self, node: Node) -> None:
        self.nodes[node.id] = node

    def _read_operator(self, operator: Any, name: str) -> None:
        inputs = tuple(self._edge(item.name) for item in operator.input if not item.is_argument_input)
        connections = {item.arg_name: self._edge(item.name) for item in operator.input if item.is_argument_input}
        device = next((_text(item) for item in operator.args if item.name == "device"), "cpu")
        origin = _origin(operator)
        if operator.name == "_ArithmeticGenericOp" and not connections:
            arguments = self._arguments(operator, {})
            try:
                tree = dali_arguments.read_expression(arguments)
                self._read_expression(tree, name, device, inputs, origin)
            except FormatError:
                self._add(Node(name, operator.name, device, inputs, arguments, connections, origin))
            return
        kind, defaults = _known(operator.name)
        arguments = {**defaults, **self._arguments(operator, kind.argument_table if kind else {})}
        extra = self._kept("arguments").get(name)
        for key, value in extra.items() if isinstance(extra, dict) else ():
            table: Mapping[str, Any] = kind.argument_table if kind else {}
            arguments[key] = values.decode(value, table.get(key))
        self._add(Node(name, kind.name if kind else operator.name, device, inputs, arguments, connections, origin))

    def _arguments(self, operator: Any, table: Mapping[str, Any]) -> dict[str, Any]:
        return {
            item.name: dali_arguments.read(item, table.get(item.name))
            for item in operator.args
            if not _IGNORED.fullmatch(item.name)
        }

    def _read_expression(self, tree: Any, name: str, device: str, inputs: tuple[Edge, ...], origin: str) -> None:
        """Add the nodes of an expression; the outermost one gets the name."""
        function, operands = tree
        op = f"math.{function}"
        if not has_operator(op) or len(operands) > 3:
            raise FormatError(f"there is no function {function!r}")
        edges: list[Edge] = []
        arguments: dict[str, Any] = {}
        for letter, operand in zip(OPERAND_LETTERS, operands, strict=False):
            if isinstance(operand, int):
                if operand >= len(inputs):
                    raise FormatError("an expression lacks an input")
                edges.append(inputs[operand])
            elif isinstance(operand, list):
                value, dtype = operand
                arguments[letter] = value
                if dtype != constant_dtype(value):
                    arguments[f"{letter}_dtype"] = dtype
            else:
                inner = unique_name(f"{name}_{operand[0]}", {**self.nodes, **dict.fromkeys(self.names.values())})
                self._read_expression(operand, inner, device, inputs, origin)
                edges.append(Edge(inner))
        self._add(Node(name, op, device, tuple(edges), arguments, {}, origin))

    def _output(self, output: Any) -> Edge:
        edge = self._edge(output.name)
        node = self.nodes.get(edge.node)
        made_on = "cpu" if node is None or node.device == "cpu" else "gpu"
        moved = output.device if output.device in ("cpu", "gpu") and output.device != made_on else ""
        return Edge(edge.node, edge.output, moved)

    def _settings(self) -> dict[str, Any]:
        message = self.message
        settings: dict[str, Any] = {"batch_size": message.batch_size or 1, "num_threads": message.num_threads}
        if message.device_id >= 0:
            settings["device_id"] = message.device_id
        if message.seed >= 0:
            settings["seed"] = message.seed
        cpu, gpu = message.prefetch_queue_depth_cpu, message.prefetch_queue_depth_gpu
        flags = message.executor_type if message.HasField("executor_type") else _PIPELINED | _ASYNC | _DYNAMIC
        if flags & _SEPARATED or cpu != gpu:
            settings["prefetch_queue_depth"] = {"cpu_size": cpu, "gpu_size": gpu}
        elif cpu != 2:
            settings["prefetch_queue_depth"] = cpu
        pipelined, in_background = bool(flags & _PIPELINED), bool(flags & _ASYNC)
        if not pipelined:
            settings["exec_pipelined"] = False
        if not in_background:
            settings["exec_async"] = False
        if bool(flags & _DYNAMIC) != (pipelined and in_background and not flags & _SEPARATED):
            settings["exec_dynamic"] = bool(flags & _DYNAMIC)
        if message.enable_checkpointing:
            settings["enable_checkpointing"] = True
        if message.HasField("executor_flags") and message.executor_flags != 4:
            settings["executor_flags"] = message.executor_flags
        if message.bytes_per_sample_hint:
            settings["bytes_per_sample"] = message.bytes_per_sample_hint
        kept = {key: values.decode(value) for key, value in self._kept("pipeline").items()}
        return {**kept, **settings, **self._described()}

    def _described(self) -> dict[str, Any]:
        """Expected dtypes, dimensions and layouts of the outputs."""
        outputs = self.message.pipe_outputs
        dtypes = tuple(_dtype(output.dtype) for output in outputs)
        ndims = tuple(output.ndim if output.ndim >= 0 else None for output in outputs)
        layouts = tuple(output.layout if output.HasField("layout") else None for output in outputs)
        columns = {"output_dtype": dtypes, "output_ndim": ndims, "output_layout": layouts}
        return {key: column for key, column in columns.items() if any(item is not None for item in column)}

    def _view(self) -> dict[str, Any]:
        view = values.decode(self.rest.get("view", {}))
        return view if isinstance(view, dict) else {}

    def _grouped(self, graph: Graph) -> Graph:
        """External sources that were one node with several outputs, as that node."""
        moved: dict[str, Edge] = {}
        nodes = dict(graph.nodes)
        source = find_operator("external_source")
        table = source.argument_table
        for name, members in self._groups().items():
            stored = self._kept("arguments").get(name)
            if not name or name in nodes or not isinstance(stored, dict):
                continue
            arguments = {key: values.decode(value, table.get(key)) for key, value in stored.items()}
            whole = all(member in nodes and nodes[member].op == source.name for member in members)
            if not whole or arguments.get("num_outputs") != len(members):
                continue
            moved.update({member: Edge(name, index) for index, member in enumerate(members)})
            one = Node(name, source.name, nodes[members[0]].device, (), arguments)
            nodes = {
                (name if key == members[0] else key): one if key == members[0] else node
                for key, node in nodes.items()
                if key == members[0] or key not in moved
            }

        def there(edge: Edge) -> Edge:
            found = moved.get(edge.node)
            return Edge(found.node, found.output, edge.device) if found else edge

        return graph.replaced(nodes=nodes).rewired(there)


def _known(name: str) -> tuple[type[Operator] | None, Mapping[str, Any]]:
    """The operator of a serialized name, if there is one, and its other defaults under a name of older releases."""
    # TFRecordReader writes its name with an underscore in front.
    alias = BY_SCHEMA_NAME.get(name) or BY_SCHEMA_NAME.get(name.removeprefix("_"))
    try:
        kind = find_operator(alias.successor if alias else name)
    except ValueError:
        return None, {}
    if alias:
        return kind, alias.defaults
    return (kind if kind.schema_name == name else None), {}


def _text(argument: object) -> str:
    value = dali_arguments.read(argument)
    return value if isinstance(value, str) else ""


def _dtype(value: int) -> dtypes.DALIDataType | None:
    return dtypes.DALIDataType(value) if 0 <= value <= int(dtypes.BOOL) else None


def _origin(operator: Any) -> str:
    """The line of the user's program that made the operator, if the stack was stored: its innermost line."""
    found = {
        item.name: item for item in operator.args if item.name in ("_origin_stack_filename", "_origin_stack_lineno")
    }
    if len(found) < 2:
        return ""
    files, numbers = (dali_arguments.read(found[key]) for key in ("_origin_stack_filename", "_origin_stack_lineno"))
    if not isinstance(files, tuple) or not isinstance(numbers, tuple) or not files or len(files) != len(numbers):
        return ""
    stack = [(str(file), line) for file, line in zip(files, numbers, strict=True)]
    own = [place for place in stack if "nvidia/dali" not in place[0].replace("\\", "/")] or stack
    return f"{own[-1][0]}:{own[-1][1]}"[:_MOST_ORIGIN]
