"""The conditions that are being traced: the branch of each, its nodes, and the nodes brought in from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from dali_lab.graph.recorder import DataNode, OpCall

Key = tuple[int, int]


def _key(node: DataNode) -> Key:
    return node.source.number, node.index


@dataclass
class _Level:
    """One condition: the branch in progress, nodes made in each branch, and nodes brought in from outside."""

    predicate: DataNode
    branch: int
    made: tuple[set[Key], set[Key]] = field(default_factory=lambda: (set(), set()))
    brought: dict[tuple[Key, str], tuple[DataNode, DataNode]] = field(default_factory=dict)

    def find(self, node: DataNode) -> DataNode | None:
        """The node as this branch sees it, if it was made here or brought here already."""
        if _key(node) in self.made[self.branch]:
            return node
        pair = self.brought.get((_key(node), node.device))
        return pair[self.branch] if pair is not None else None


class ConditionStack:
    """The conditions around the code that is being traced, outermost first.

    A node that no level knows was made outside of all conditions: it stands for the whole batch.

    Attributes
    ----------
    joined
        The result of the last condition whose branches return.
    """

    def __init__(self) -> None:
        self.joined: object = None
        self._levels: list[_Level] = []
        self._paused = False

    @property
    def depth(self) -> int:
        """Number of conditions around the code that is being traced."""
        return 0 if self._paused else len(self._levels)

    def bring(self, node: DataNode) -> DataNode:
        """The part of a node's batch that belongs to the branch that is being traced."""
        if not self.depth:
            return node
        start, found = 0, node
        for index in range(len(self._levels) - 1, -1, -1):
            seen = self._levels[index].find(node)
            if seen is not None:
                start, found = index + 1, seen
                break
        for index in range(start, len(self._levels)):
            found = self._cut(index, node, found)
        return found

    def _cut(self, index: int, original: DataNode, node: DataNode) -> DataNode:
        from dali_lab.graph.naming import suggesting
        from dali_lab.graph.tracing import call_operator

        level = self._levels[index]
        pair = level.brought.get((_key(node), node.device))
        if pair is None:
            with self.paused(), suggesting(""):
                pair = call_operator("_conditional.split", (node,), {"predicate": level.predicate})
            level.brought[_key(node), node.device] = pair
            for branch in (0, 1):
                level.made[branch].add(_key(pair[branch]))
        level.brought[_key(original), original.device] = pair
        return pair[level.branch]

    def enter(
        self, inputs: Sequence[DataNode], connections: Mapping[str, DataNode]
    ) -> tuple[tuple[DataNode, ...], dict[str, DataNode]]:
        """The inputs of a call as the branch that is being traced sees them."""
        return tuple(self.bring(node) for node in inputs), {k: self.bring(node) for k, node in connections.items()}

    def record(self, call: OpCall) -> None:
        """Note a call: without inputs it stands for the whole batch, else it belongs to this branch."""
        if self.depth and (call.inputs or call.connections):
            level = self._levels[-1]
            level.made[level.branch].update((call.number, index) for index in range(call.outputs))

    def adopt(self, node: DataNode) -> None:
        """Note a node as made in the branch that is being traced, such as the join of an inner condition."""
        if self._levels:
            level = self._levels[-1]
            level.made[level.branch].add(_key(node))

    def scope(self) -> DataNode | None:
        """A node with as many samples as the branch that is being traced, or `None` outside of conditions."""
        return self.bring(self._levels[-1].predicate) if self.depth else None

    @contextmanager
    def branch(self, level: _Level, branch: int) -> Iterator[None]:
        """Trace one branch of a condition."""
        level.branch = branch
        self._levels.append(level)
        try:
            yield
        finally:
            self._levels.pop()

    def condition(self, predicate: DataNode) -> _Level:
        """A new condition inside those that are being traced."""
        return _Level(self.bring(predicate), 0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record calls as they are."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before
