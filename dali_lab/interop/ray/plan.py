"""The epochs of a recipe: how long its reader, or the caller, says that one is."""

from __future__ import annotations

from dali_lab.graph.graph import Graph
from dali_lab.interop.iteration import LastBatchPolicy
from dali_lab.interop.ray.epochs import Epochs
from dali_lab.interop.ray.recipe import Recipe
from dali_lab.interop.ray.requirements import RayError
from dali_lab.model.errors import ArgumentError, nearest
from dali_lab.schema.registry import find_operator


def epochs_of(recipe: Recipe, reader: str | None, batches: int | None, policy: LastBatchPolicy) -> Epochs:
    """The epochs of a run, as its reader knows them, or with a number of batches.

    Raises
    ------
    ArgumentError
        If no reader tells how long an epoch is, or several do.
    OperatorError
        If a source can only be asked for one batch after the other.
    """
    _check_sources(recipe.graph)
    walk = recipe.positions(batches)
    try:
        walk.before(1)
        found = {recipe.names.get(node, node): meta for node, meta in walk.meta.items()}
    finally:
        walk.close()
    if batches is not None:
        if batches < 1:
            raise ArgumentError(f"must be at least 1, not {batches}", argument="batches")
        return Epochs(recipe.batch_size, None, batches)
    if not found or not walk.endless:
        raise ArgumentError("must be given: no reader tells how many batches an epoch has", argument="batches")
    if reader is None and len(found) > 1:
        raise ArgumentError(f"must name one of the readers {', '.join(found)}", argument="reader_name")
    name = reader or next(iter(found))
    name = recipe.names.get(name, name)
    if name not in found:
        raise ArgumentError(
            f"there is no reader '{name}'{nearest(name, found)}; readers: {', '.join(found)}", argument="reader_name"
        )
    meta = found[name]
    samples = meta["epoch_size_padded"] if meta["pad_last_batch"] else meta["epoch_size"]
    share = -(-samples // meta["number_of_shards"])
    return Epochs(recipe.batch_size, share, None, bool(meta["pad_last_batch"]), policy)


def _check_sources(graph: Graph) -> None:
    for node in graph.nodes.values():
        if find_operator(node.op).fed and node.arguments.get("source") is None:
            raise RayError(
                "is fed by the program, so it has no batches of its own; dali_lab.plugin.ray.stage() runs such graphs"
                " over the rows of a dataset",
                node=node.id,
                operator=node.op,
                origin=node.origin or None,
            )


def reads(graph: Graph) -> bool:
    """Whether a reader of the graph knows how long an epoch is."""
    return bool(_readers(graph))


def first_reader(graph: Graph) -> str | None:
    """The reader by which an epoch is counted where there are several and nobody chose one; `None` for one alone."""
    readers = _readers(graph)
    return readers[0] if len(readers) > 1 else None


def _readers(graph: Graph) -> list[str]:
    kinds = {name: find_operator(node.op) for name, node in graph.nodes.items()}
    return [name for name, kind in kinds.items() if kind.source and not kind.fed]
