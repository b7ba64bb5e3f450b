"""Random graphs over all registered operators, for the property tests of the formats."""

from __future__ import annotations

import keyword
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dali_lab import types
from dali_lab.errors import ArgumentError
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.verification import problems
from dali_lab.schema import Arg, all_operators

OPERATORS = {name: op for name, op in all_operators().items() if not name.startswith("test.")}
IDENTIFIERS = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters=":"), min_size=1, max_size=12)
FLOATS = st.floats(width=32)
INTEGERS = st.integers(-(2**31), 2**31 - 1)
ENUMS = {
    "dtype": list(types.DALIDataType),
    "image_type": list(types.DALIImageType),
    "interp_type": list(types.DALIInterpType),
}


def element(arg: Arg) -> st.SearchStrategy[Any]:
    """Values that one element of the argument takes."""
    if arg.type == "bool":
        return st.booleans()
    if arg.type == "int":
        low = -(2**31) if arg.minimum is None else math.ceil(arg.minimum)
        high = 2**31 - 1 if arg.maximum is None else math.floor(arg.maximum)
        return st.integers(low, high)
    if arg.type == "float":
        low = -1e6 if arg.minimum is None else arg.minimum
        high = 1e6 if arg.maximum is None else arg.maximum
        finite = st.floats(low, high, exclude_min=arg.exclusive_minimum, allow_nan=False)
        free = arg.minimum is None and arg.maximum is None
        if free:
            return st.one_of(finite, st.sampled_from([math.inf, -math.inf, math.nan]))
        return finite.map(lambda value: round(value, 4)).filter(lambda value: _is_allowed(arg, value))
    if arg.type == "number":
        return st.one_of(INTEGERS, st.floats(-1e6, 1e6), st.booleans())
    if arg.type in ENUMS:
        # Graphs have no NO_TYPE where it counts as not given.
        return st.sampled_from([kind for kind in arg.choices or ENUMS[arg.type] if kind is not types.NO_TYPE])
    if arg.type == "string":
        return st.sampled_from(arg.choices) if arg.choices else st.text(max_size=8)
    if arg.type == "layout":
        return st.sampled_from(arg.choices) if arg.choices else st.text("FDHWC", max_size=5)
    return OBJECTS.filter(lambda value: value is not None)


def _is_allowed(arg: Arg, value: float) -> bool:
    try:
        arg.canonical(value)
    except ArgumentError:
        return False
    return True


ARRAYS = st.builds(
    lambda dtype, shape, seed: np.random.default_rng(seed).integers(0, 100, shape).astype(dtype),
    st.sampled_from([np.uint8, np.float32, np.int64, np.bool_, np.float64]),
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(0, 5),
)
SCALARS = st.one_of(st.none(), st.booleans(), INTEGERS, st.floats(), st.text(max_size=6), st.binary(max_size=4))
OBJECTS = st.recursive(
    st.one_of(SCALARS, st.sampled_from([kind for kinds in ENUMS.values() for kind in kinds]), ARRAYS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=4), inner, max_size=3),
        st.dictionaries(st.integers(), inner, max_size=2),
    ),
    max_leaves=4,
)


@st.composite
def arguments(draw: st.DrawFn, table: dict[str, Arg], every: bool = False) -> dict[str, Any]:
    """Some of the arguments, all required ones among them."""
    values = {}
    for name, arg in table.items():
        if name in ("name", "preserve", "bytes_per_sample_hint") or arg.removed or arg.renamed_to:
            continue
        if not arg.required and draw(st.integers(0, 3)) != 0:
            continue
        if name == "num_outputs":
            values[name] = draw(st.sampled_from([1, 2, 3, 5, 70]))
        elif arg.vector:
            lengths = arg.lengths or ((arg.length,) if arg.length else range(5))
            length = draw(st.sampled_from(lengths))
            values[name] = tuple(draw(st.lists(element(arg), min_size=length, max_size=length)))
        else:
            values[name] = draw(element(arg))
    return values


@st.composite
def graphs(draw: st.DrawFn, *, names: st.SearchStrategy[str] = TEXTS, unfinished: bool = True) -> Graph:
    """Graphs that need not run: any operator, any values of the right type, edges that may lead nowhere."""
    ids = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    nodes = {}
    targets = [*ids, "nowhere"] if unfinished else []

    def edge(before: list[str]) -> Edge:
        if unfinished and draw(st.integers(0, 5)) == 0:
            return Edge("")
        return Edge(draw(st.sampled_from(before)), draw(st.integers(0, 2)))

    for name in ids:
        if unfinished and draw(st.integers(0, 4)) == 0:
            values = draw(st.dictionaries(IDENTIFIERS, OBJECTS, max_size=3))
            nodes[name] = Node(name, "unheard." + draw(IDENTIFIERS), "cpu", (), values)
            continue
        operator = OPERATORS[draw(st.sampled_from(sorted(OPERATORS)))]
        table = operator.argument_table
        values = draw(arguments(table))
        tensors = [key for key, arg in table.items() if arg.tensor]
        connected = draw(st.lists(st.sampled_from(tensors), max_size=2, unique=True)) if tensors else []
        inputs = [edge(targets) for _ in range(draw(st.integers(0, 3)))] if targets else []
        while inputs and not inputs[-1].node:
            inputs.pop()
        nodes[name] = Node(
            name,
            operator.name,
            draw(st.sampled_from(["cpu", "gpu", "mixed"])),
            tuple(inputs),
            values,
            {key: Edge(draw(st.sampled_from(targets)), draw(st.integers(0, 1))) for key in connected}
            if targets
            else {},
        )
    outputs = tuple(
        Edge(draw(st.sampled_from(ids)), draw(st.integers(0, 2)), draw(st.sampled_from(["", "gpu", "cpu"])))
        for _ in range(draw(st.integers(0, 3)))
    )
    view = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "nodes": st.dictionaries(
                    st.sampled_from(ids), st.fixed_dictionaries({"x": FINITE, "y": FINITE}), max_size=3
                ),
                "notes": st.lists(
                    st.fixed_dictionaries({"id": st.text(max_size=3), "text": st.text(max_size=9)}), max_size=2
                ),
                "groups": st.just([]),
                "zoom": FINITE,
            },
        )
    )
    settings = draw(
        st.fixed_dictionaries(
            {"batch_size": st.integers(1, 64)},
            optional={
                "num_threads": st.integers(1, 4),
                "device_id": st.one_of(st.none(), st.integers(0, 3)),
                "seed": st.integers(0, 2**40),
                "prefetch_queue_depth": st.one_of(
                    st.integers(1, 4),
                    st.fixed_dictionaries({"cpu_size": st.integers(1, 3), "gpu_size": st.integers(1, 3)}),
                ),
            },
        )
    )
    return Graph(nodes, outputs, settings, view)


FINITE = st.floats(-1e4, 1e4)


@st.composite
def finished_graphs(
    draw: st.DrawFn,
    *,
    names: st.SearchStrategy[str] = TEXTS,
    most: int = 7,
    cpu: bool = False,
    beyond_dali: bool = True,
) -> Graph:
    """Graphs without a problem: operators with as many inputs as they take, all nodes needed by the outputs."""
    nodes: dict[str, Node] = {}
    for name in draw(st.lists(names, min_size=1, max_size=most, unique=True)):
        node = draw(_finished_node(name, nodes, cpu, beyond_dali))
        trial = Graph({**nodes, name: node}, (Edge(name),))
        if not problems(trial):
            nodes[name] = node
    if not nodes:
        nodes["source"] = Node("source", "external_source")
    used = {edge.node for node in nodes.values() for edge in node.edges()}
    outputs = [Edge(name) for name in nodes if name not in used and _count(nodes[name])]
    outputs += [
        Edge(name) for name in draw(st.lists(st.sampled_from(sorted(nodes)), max_size=2)) if _count(nodes[name])
    ]
    moved = [draw(st.sampled_from(["", "cpu", "gpu"])) for _ in outputs]
    outputs = [
        Edge(edge.node, edge.output, _moved(nodes[edge.node], to)) for edge, to in zip(outputs, moved, strict=True)
    ]
    graph = Graph(nodes, tuple(outputs), draw(_SETTINGS))
    return graph.without(set(nodes) - graph.ancestors(edge.node for edge in outputs))


def _moved(node: Node, to: str) -> str:
    """The device of an output, where that is not the one that it is made on."""
    return to if to != ("cpu" if node.device == "cpu" else "gpu") else ""


_SETTINGS = st.fixed_dictionaries(
    {"batch_size": st.integers(1, 9)},
    optional={
        "num_threads": st.integers(1, 4),
        "device_id": st.one_of(st.none(), st.integers(0, 3)),
        "seed": st.integers(0, 2**40),
        "prefetch_queue_depth": st.one_of(
            st.integers(1, 4), st.fixed_dictionaries({"cpu_size": st.integers(1, 3), "gpu_size": st.integers(1, 3)})
        ),
        "enable_checkpointing": st.booleans(),
        "exec_pipelined": st.booleans(),
    },
)


def _count(node: Node) -> int:
    return OPERATORS[node.op].count_outputs(node.arguments, len(node.inputs))


@st.composite
def _finished_node(draw: st.DrawFn, name: str, before: dict[str, Node], cpu: bool, beyond_dali: bool) -> Node:
    edges = [Edge(other, index) for other, node in before.items() for index in range(_count(node))]
    takes = [op for op in OPERATORS.values() if edges or not any(not i.optional for i in op.inputs)]
    takes = [op for op in takes if beyond_dali or not op.beyond_dali]
    operator = draw(st.sampled_from(takes))
    if draw(st.booleans()) and edges:
        operator = OPERATORS[
            draw(st.sampled_from([op.name for op in takes if op.name.startswith("math.")] or [operator.name]))
        ]
    values = draw(arguments(operator.argument_table))
    values = {key: value for key, value in values.items() if not _is_set_to_none(value)}
    wanted = [declared for declared in operator.inputs if not declared.optional or (edges and draw(st.booleans()))]
    tensors = [key for key, arg in operator.argument_table.items() if arg.tensor]
    connected = draw(st.lists(st.sampled_from(tensors), max_size=1)) if tensors and edges else []
    if operator.name.startswith("math.") and len(operator.inputs) > 1:
        constant = draw(st.sampled_from(["", "a", "b"]))
        values = {constant: draw(st.one_of(st.integers(-9, 9), st.floats(-3, 3), st.booleans()))} if constant else {}
        wanted = list(operator.inputs[1:] if constant else operator.inputs)
    return Node(
        name,
        operator.name,
        "cpu" if cpu else draw(st.sampled_from(operator.devices)),
        tuple(draw(st.sampled_from(edges)) for _ in wanted) if edges else (),
        values,
        {key: draw(st.sampled_from(edges)) for key in connected if key not in values},
    )


def _is_set_to_none(value: Any) -> bool:
    return value is None
