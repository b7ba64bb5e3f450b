"""Gives a plan its cache: chooses what is kept, and where."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from dali_lab.executor.caching.choosing import Choosing
from dali_lab.executor.caching.entries import Form
from dali_lab.executor.caching.filling import Filling
from dali_lab.executor.caching.folder import UnusableCacheError, open_folder, used_bytes, write_new
from dali_lab.executor.caching.folder_store import FolderStore, free_bytes
from dali_lab.executor.caching.numerics import numerics
from dali_lab.executor.caching.rates import rate_of_disk
from dali_lab.executor.caching.recall import CachedSteps
from dali_lab.executor.caching.store import MemoryStore, Store
from dali_lab.executor.plan import Plan, Stage, Step, make_plan
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.passes.once import CachedPart, cached_part
from dali_lab.io.locations import canonical, is_remote, shown
from dali_lab.model.buffers import memory_of_machine
from dali_lab.model.errors import ArgumentError
from dali_lab.schema.registry import find_operator
from dali_lab.schema.source import Source

OFF, MEMORY = "off", "memory"
"""Values of the setting `cache` that name no folder."""
_IN_MEMORY, _IN_FILES, _IN_STORES = 1e-10, 1e-9, 1e-8
"""Seconds that it takes to keep a byte, to copy and check it where it comes from files, and to have it from a store."""
_SHARE_OF_MEMORY = 4
"""The part of the machine's memory that a cache in memory may take by default: one of so many."""


def attach_cache(
    plan: Plan,
    part: CachedPart | None,
    cache: str,
    limit: int | None,
    above: int = 0,
    samples: Callable[[], int] = lambda: 0,
    plain: Graph | None = None,
    filling: Filling | None = None,
    by_content: bool = False,
) -> CachedSteps | None:
    """Let a plan keep the results of a part of its graph; `None` where it cannot.

    A folder that cannot be used is told of in a warning, and the plan runs without a cache. In memory samples of more
    than `above` bytes are kept. `samples` tells how many there are in an epoch. With the `plain` graph, which has no
    cache, `filling` decides which samples are kept. Files are told apart by their sizes and times, or `by_content`.

    Raises
    ------
    ArgumentError
        If `cache` names something that is no cache folder.
    """
    if part is None:
        return None
    inner = cached_part(plan.graph)
    names = set(inner.nodes if inner is not None else ())
    stage = next((stage for stage in plan.stages if any(step.node.id in names for step in stage.steps)), None)
    if stage is None or stage.whole or stage.gpu or stage.scope:
        return None
    inside = [step for step in stage.steps if step.node.id in names]
    if len(inside) < sum(step.node.id in names for step in plan.steps()):
        return None
    try:
        open_store = _opened(cache, limit, above)
    except UnusableCacheError as error:
        warnings.warn(f"training goes on without a cache: {error}", RuntimeWarning, stacklevel=2)
        return None
    exposed = tuple(edge in stage.exports for edge in part.exports)

    def make(form: Form) -> Store | None:
        try:
            return open_store(f"{part.meaning}\n{numerics()}", form, samples(), exposed)
        except OSError as error:
            warnings.warn(f"training goes on without a cache: {error}", RuntimeWarning, stacklevel=2)
            return None

    stage.steps = [*inside, *(step for step in stage.steps if step.node.id not in names)]
    sources = {step.node.id: step.operator for step in inside if step.operator.source}
    origins = tuple(_origin(plan.graph, edge) for edge in part.exports)
    stage.kept = CachedSteps(len(inside), part.exports, sources, origins, exposed, make, by_content=by_content)
    _never_deferred(stage, part)
    if plain is not None:
        stage.plain = _plain_steps(plan, stage, plain)
        stage.kept.filling = filling
        stage.kept.beside = _beside(plan.graph, part, stage.plain)
    return stage.kept


def _plain_steps(plan: Plan, stage: Stage, graph: Graph) -> list[Step]:
    """The steps of a stage in a graph without caches; none where the graph has no such stage.

    Both graphs share the operators that are the same in both.
    """
    operators = {
        step.node.id: step.operator
        for step in plan.steps()
        if step.node.id in graph.nodes and _made_alike(step.node, graph.nodes[step.node.id])
    }
    other = make_plan(graph, operators=operators)
    if len(other.stages) != len(plan.stages) or any(
        name not in operators for name in (s.node.id for s in other.sources)
    ):
        return []
    found = other.stages[plan.stages.index(stage)]
    passed_on = [
        step for step in stage.steps if step.operator.keeps and any(edge.node == step.node.id for edge in stage.exports)
    ]
    names = {step.node.id: step.inputs[0] for step in passed_on}
    exports = {names.get(edge.node, edge) for edge in stage.exports}
    steps = [*found.steps, *passed_on]
    known = {step.node.id for step in steps} <= {step.node.id for step in stage.steps}
    return steps if known and exports <= set(found.exports) and not found.whole and not found.scope else []


def _beside(graph: Graph, part: CachedPart, plain: Sequence[Step]) -> Edge | None:
    """The kept edge, but for those of readers, that is the first half of a fused step without a cache: windows."""
    edges = [edge for edge in part.exports if graph.nodes[edge.node].inputs]
    halves = {step.node.arguments.get("resize_node") for step in plain}
    made = [graph.nodes[graph.nodes[edge.node].inputs[0].node] for edge in edges]
    return edges[0] if len(edges) == 1 and "crop_node" in made[0].arguments and made[0].id in halves else None


def _made_alike(one: Node, other: Node) -> bool:
    """Whether operators made of two nodes are the same, wherever their inputs come from."""
    return (one.op, one.device, dict(one.arguments), set(one.connections)) == (
        other.op, other.device, dict(other.arguments), set(other.connections),
    )  # fmt: skip


def check_place(graph: Graph, cache: str) -> None:
    """Check that a cache would not be a folder among those whose names give samples their labels.

    Raises
    ------
    ArgumentError
        If it would.
    """
    for name, node in graph.nodes.items():
        root = find_operator(node.op).listed_folder(node.arguments)
        if root is not None and _is_listed(cache, root):
            raise ArgumentError(
                f"the folder '{shown(cache)}' would be one of those that '{name}' (fn.{node.op}) lists in"
                f" '{shown(root)}', and change labels; name a folder outside of it",
                argument="cache",
            )


def _is_listed(cache: str, root: str) -> bool:
    """Whether a cache would be, or make, a folder that stands in `root`."""
    if is_remote(cache) or is_remote(root):
        return canonical(cache).startswith(canonical(root).rstrip("/") + "/")
    there = Path(root).resolve()
    with contextlib.suppress(ValueError):  # it lies somewhere else
        first, *more = Path(cache).expanduser().resolve().relative_to(there).parts or (".",)
        return first != "." and not (more and (there / first).exists())
    return False


OpenStore = Callable[[str, Form, int, Sequence[bool]], Store]
"""Opens the store of a meaning, for rows of a form, of so many samples, some edges of which are outputs."""


def _opened(cache: str, limit: int | None, above: int) -> OpenStore:
    """Open a cache as far as it can be without knowing what is kept.

    Raises
    ------
    ArgumentError
        If it is no cache folder.
    UnusableCacheError
        If it cannot be used now.
    """
    if cache == MEMORY:
        most = limit if limit is not None else memory_of_machine() // _SHARE_OF_MEMORY
        return lambda meaning, form, samples, exposed: MemoryStore(form, most, above, exposed)
    if is_remote(cache):
        from dali_lab.executor.caching.remote_folder import open_folder as open_remote
        from dali_lab.executor.caching.remote_store import RemoteStore

        url = open_remote(cache)
        return lambda meaning, form, samples, exposed: RemoteStore(url, meaning, form, limit, samples, exposed)
    root = open_folder(cache)
    return lambda meaning, form, samples, exposed: FolderStore(root, meaning, form, limit, samples, exposed)


def choosing_for(
    cache: str, limit: int | None, opening: Callable[[Sequence[Step]], dict[str, Source]], seeds: Mapping[str, int]
) -> Choosing | None:
    """The chooser of the place of a cache; `None` where the cache cannot be used, which is told of later."""
    if cache == MEMORY:
        most = limit if limit is not None else memory_of_machine() // _SHARE_OF_MEMORY
        return Choosing(opening, seeds, lambda nbytes: _IN_MEMORY, most)
    try:
        if is_remote(cache):
            from dali_lab.executor.caching import remote_folder

            url = remote_folder.open_folder(cache)
            return Choosing(
                opening,
                seeds,
                lambda nbytes: _IN_STORES,
                np.inf if limit is None else limit,
                lambda name: remote_folder.known(f"{url}/{name}"),
                lambda name, content: remote_folder.put(f"{url}/{name}", content),
            )
        root = open_folder(cache)
    except UnusableCacheError:
        return None
    room = free_bytes(root) if limit is None else min(limit, used_bytes(root) + free_bytes(root))
    return Choosing(
        opening,
        seeds,
        lambda nbytes: _IN_FILES + 1 / rate_of_disk(root, nbytes),
        room,
        lambda name: (root / name).read_bytes(),
        lambda name, content: write_new(root / name, content),
    )


def _never_deferred(stage: Stage, part: CachedPart) -> None:
    """Let no step leave its work to one whose results are not kept with its own."""
    for step in stage.steps:
        if any(edge.node == step.node.id for edge in part.exports):
            step.taker = None


def _origin(graph: Graph, edge: Edge) -> Edge:
    """The output of a reader whose sources an edge's samples have: those of the first input, and so on."""
    while graph.nodes[edge.node].inputs:
        edge = graph.nodes[edge.node].inputs[0]
    return edge
