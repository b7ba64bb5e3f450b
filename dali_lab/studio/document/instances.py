"""Sub-graphs as a client sees them: problems, edges and results of the nodes inside are those of the instance."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from dali_lab.formats.subgraphs import Instance
from dali_lab.graph.graph import Edge, bare
from dali_lab.graph.verification import Problem
from dali_lab.studio.document.graph_document import edge_of


class Instances:
    """The instances of a document, by the names of the nodes that stand for them."""

    def __init__(self, instances: Mapping[str, Instance]) -> None:
        self.by_name = instances
        self._owners = {member: name for name, instance in instances.items() for member in instance.members}

    def owner(self, node: str) -> str:
        """The node that a client sees for a node of the graph."""
        return self._owners.get(node, node)

    def inside(self, node: str) -> str:
        """The name of a node inside of its instance, empty for others."""
        owner = self._owners.get(node)
        return node[len(owner) + 1 :] if owner is not None else ""

    def edge(self, node: str, output: int) -> Edge:
        """The edge of the graph behind an output that a client names."""
        instance = self.by_name.get(node)
        found = instance.outputs[output] if instance is not None and output < len(instance.outputs) else None
        return Edge(node, output) if found is None else bare(edge_of(found))

    def edges(self, name: str) -> list[Edge]:
        """The edges of the graph behind the outputs of an instance; one that leads nowhere names the instance."""
        return [Edge(name) if edge is None else edge_of(edge) for edge in self.by_name[name].outputs]

    def argument(self, node: str, argument: str | None) -> str | None:
        """The argument of the instance that sets an argument of a node inside."""
        owner = self._owners.get(node)
        if owner is None or argument is None:
            return argument
        return self.by_name[owner].parameters.get((node, argument))

    def words(self, node: str, message: str) -> str:
        """A message about a node, as one about what the client sees."""
        inside = self.inside(node)
        return f"'{inside}': {message}" if inside else message

    def problem(self, problem: Problem) -> Problem:
        """A problem of the graph, as a client sees it."""
        if problem.node is None or problem.node not in self._owners:
            return problem
        unconnected = self.by_name[self.owner(problem.node)].unconnected
        if problem.code == "unconnected" and unconnected:
            index, name = next(iter(unconnected.items()))
            return dataclasses.replace(
                problem, message=f"Connect {name}.", node=self.owner(problem.node), argument=None, input=index
            )
        return dataclasses.replace(
            problem,
            message=self.words(problem.node, problem.message),
            node=self.owner(problem.node),
            argument=self.argument(problem.node, problem.argument),
            input=None,
        )

    def problems(self, problems: Iterable[Problem]) -> list[tuple[Problem, Problem]]:
        """Problems of the graph, each with the one that a client sees; what it would see twice is left out."""
        return list({self.problem(problem): (problem, self.problem(problem)) for problem in problems}.values())
