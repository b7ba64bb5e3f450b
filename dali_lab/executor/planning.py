"""From a verified graph and a pipeline's settings to the plan that the engine runs, with its cache."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dali_lab.device.interface import Device
from dali_lab.executor.caching.attaching import MEMORY, OFF, attach_cache, check_place, choosing_for
from dali_lab.executor.caching.choosing import Choosing
from dali_lab.executor.caching.filling import Filling
from dali_lab.executor.caching.recall import CachedSteps
from dali_lab.executor.plan import Plan, Step, make_plan
from dali_lab.executor.settings import Settings
from dali_lab.graph.graph import Graph
from dali_lab.graph.passes import optimized
from dali_lab.graph.passes.direct_reading import direct_reading
from dali_lab.graph.passes.merging import merge_equal
from dali_lab.graph.passes.once import CachedPart, cached_part, decoder_cache, has_caches, with_caches
from dali_lab.model.errors import GraphError
from dali_lab.schema.source import Source


class Planned(NamedTuple):
    """What the engine runs, the steps whose results are kept, and sources that finding these has opened."""

    plan: Plan
    kept: CachedSteps | None
    opened: Mapping[str, Source]


class EpochSizes(NamedTuple):
    """Tell the samples of an epoch, once sources are open: of all shards, and of this process's; 0 if unknown."""

    whole: Callable[[], int]
    shard: Callable[[], int]


def plan_run(
    graph: Graph,
    settings: Settings,
    seeds: Mapping[str, int],
    device: Device | None,
    unnamed: Collection[str],
    opening: Callable[[Sequence[Step]], dict[str, Source]],
    sizes: EpochSizes,
) -> Planned:
    """Apply the passes that the settings ask for, and give the plan its cache.

    Parameters
    ----------
    seeds
        Seed of each node that draws random numbers.
    unnamed
        Nodes without a name of the user's, which may be merged with equal ones.
    opening
        Opens the sources of some steps, to measure what they give.

    Raises
    ------
    ArgumentError
        If the cache cannot be where the settings want it.
    GraphError
        If what they want to keep changes from epoch to epoch.
    """
    if settings.optimize:
        # A checkpoint tells of each node that draws random numbers.
        apart = {settings.cache_at, *(seeds if settings.enable_checkpointing else ())}
        graph = merge_equal(graph, set(unnamed) - apart)
    above = 0
    if settings.cache == OFF and device is None and (asked := decoder_cache(graph)) is not None:
        settings = replace(settings, cache=MEMORY, cache_at=asked.node, cache_limit=asked.limit)
        above = asked.above
    part: CachedPart | None = None
    choosing: Choosing | None = None
    plain: Graph | None = None
    if settings.cache not in (OFF, MEMORY):
        check_place(graph, settings.cache)
    if settings.cache != OFF:
        if device is None and settings.cache_at is None:
            choosing = choosing_for(settings.cache, settings.cache_limit, opening, seeds)
            if not has_caches(graph):
                plain = optimized(graph) if settings.optimize else graph
        graph, part = _with_cache(graph, settings, device is not None, choosing)
    elif device is not None and device.reads_files:
        graph = direct_reading(graph)
    graph = optimized(graph) if settings.optimize else graph
    plan = make_plan(graph, device=device, operators=choosing.operators if choosing is not None else None)
    kept = attach_cache(
        plan,
        part,
        settings.cache,
        settings.cache_limit,
        above,
        sizes.whole,
        plain,
        Filling(settings.cache_epochs, sizes.shard),
        settings.cache_checksum,
    )
    return Planned(plan, kept, choosing.sources if choosing is not None else {})


def _with_cache(
    graph: Graph, settings: Settings, with_device: bool, choosing: Choosing | None
) -> tuple[Graph, CachedPart | None]:
    """The graph with ``cache`` nodes, and the part before them.

    Where a person has not said what to keep, and nothing can be kept, the pipeline runs without a cache and a warning.
    """
    try:
        choose = choosing.choose if choosing is not None else None
        marked = with_caches(graph, settings.cache_at, with_device=with_device, choose=choose, crop=True)
        return marked, cached_part(marked)
    except GraphError as error:
        if error.code != "nothing_to_cache":
            raise
        warnings.warn(f"nothing is kept in the cache: {error.message}", RuntimeWarning, stacklevel=2)
        return graph, None
