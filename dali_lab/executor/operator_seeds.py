"""Which seed NVIDIA DALI gives to each operator of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

SEED_WORDS = 1024
"""Seeds that a pipeline has to give; with more operators they are given again from the first."""

_WORD = 0xFFFFFFFF


def seed_sequence(seed: int, count: int) -> list[int]:
    """The `count` 32-bit words of C++'s ``std::seed_seq{seed}`` (ISO/IEC 14882, [rand.util.seedseq])."""
    if count == 0:
        return []
    given = (seed & _WORD,)
    words = [0x8B8B8B8B] * count
    t = 11 if count >= 623 else 7 if count >= 68 else 5 if count >= 39 else 3 if count >= 7 else (count - 1) // 2
    p = (count - t) // 2
    q = p + t
    rounds = max(len(given) + 1, count)
    for k in range(rounds):
        mixed = words[k % count] ^ words[(k + p) % count] ^ words[(k - 1) % count]
        r1 = (1664525 * (mixed ^ (mixed >> 27))) & _WORD
        r2 = r1 + (len(given) if k == 0 else k % count + (given[k - 1] if k <= len(given) else 0))
        words[(k + p) % count] = (words[(k + p) % count] + r1) & _WORD
        words[(k + q) % count] = (words[(k + q) % count] + r2) & _WORD
        words[k % count] = r2 & _WORD
    for k in range(rounds, 2 * rounds):
        mixed = (words[k % count] + words[(k + p) % count] + words[(k - 1) % count]) & _WORD
        r3 = (1566083941 * (mixed ^ (mixed >> 27))) & _WORD
        r4 = (r3 - k % count) & _WORD
        words[(k + p) % count] ^= r3
        words[(k + q) % count] ^= r4
        words[k % count] = r4
    return words


@lru_cache(maxsize=64)
def pipeline_words(pipeline_seed: int) -> tuple[int, ...]:
    """The :data:`SEED_WORDS` words from which a pipeline with this seed gives seeds to its operators, in order."""
    return tuple(seed_sequence(pipeline_seed, SEED_WORDS))


@dataclass(frozen=True)
class SeedRequest:
    """What one operator asks of :func:`assign_seeds`.

    Attributes
    ----------
    takes_seed
        Its declaration has the argument ``seed``.
    own
        The seed it was given, or `None`. A given -1 is a seed like any other.
    group
        The same for all nodes that one call with several input sets made; `None` for a node of its own.
    """

    takes_seed: bool
    own: int | None = None
    group: Hashable | None = None


def assign_seeds(pipeline_seed: int, requests: Iterable[SeedRequest]) -> list[int | None]:
    """The seed of each operator, `None` for those that take none.

    Each operator that takes a seed and has none of its own uses up one word. One with a seed of its own uses up
    none. Nodes of one `group` all get the seed of the first, but each of them uses up a word.

    Parameters
    ----------
    pipeline_seed
        The pipeline's seed; only its lower 32 bits matter.
    requests
        In the order of :func:`seed_order`.
    """
    words = pipeline_words(pipeline_seed)
    following = 0
    groups: dict[Hashable, int] = {}
    seeds: list[int | None] = []
    for request in requests:
        if not request.takes_seed:
            seeds.append(None)
            continue
        if request.own is not None:
            seed = request.own
            if request.group is not None:
                groups[request.group] = seed
        else:
            seed = words[following % SEED_WORDS]
            following += 1
            if request.group is not None:
                seed = groups.setdefault(request.group, seed)
        seeds.append(seed)
    return seeds


def seed_order(outputs: Iterable[str], inputs_of: Callable[[str], Iterable[str]]) -> list[str]:
    """The nodes in the order in which NVIDIA DALI gives them seeds: depth first from the outputs, inputs before users.

    Nodes that the outputs do not need are left out: in NVIDIA DALI they get no seed.

    Parameters
    ----------
    outputs
        Nodes of the pipeline's outputs in order, then the nodes that are preserved, in order of their creation.
    inputs_of
        The nodes that a node reads: its inputs in order, then the nodes connected to its arguments, sorted by the
        argument's name. Nodes that split a batch by a predicate read the value and then the predicate; those that merge
        it read the branches and then the predicate.
    """
    order: list[str] = []
    visited: set[str] = set()
    for output in outputs:
        if output in visited:
            continue
        visited.add(output)
        stack: list[tuple[str, Iterator[str]]] = [(output, iter(inputs_of(output)))]
        while stack:
            name, rest = stack[-1]
            for other in rest:
                if other not in visited:
                    visited.add(other)
                    stack.append((other, iter(inputs_of(other))))
                    break
            else:
                order.append(name)
                stack.pop()
    return order
