"""Pictures of what nodes gave: encoded on threads of their own, and remembered."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from dali_lab.executor.plan import bare
from dali_lab.executor.pool import ThreadPool
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.registry import find_operator, has_operator
from dali_lab.studio.preview.cache import Cache
from dali_lab.studio.preview.pictures import Picture, picture
from dali_lab.studio.preview.results import Evaluation, NodeResult
from dali_lab.studio.preview.summaries import Summary, positions, summary


@dataclass
class Rendered:
    """Pictures of an output, encoded."""

    summary: Summary
    pictures: list[Picture | None]

    def size(self) -> int:
        """Bytes that keeping it takes."""
        return 2048 + sum(len(item.data) for item in self.pictures if item is not None)


class Renderer:
    """Makes pictures on threads of its own, and remembers them.

    Parameters
    ----------
    threads
        How many; the evaluator's may be held up by a compiler.
    memory
        Bytes of pictures to remember.
    """

    def __init__(self, threads: int, memory: int = 128 << 20) -> None:
        self.pool = ThreadPool(threads, "dali-lab-pictures")
        self._cache: Cache[Rendered] = Cache(memory)

    def close(self) -> None:
        """End the threads and forget all pictures."""
        self.pool.close()
        self._cache.clear()

    def rendered(
        self, result: NodeResult, output: int, evaluation: Evaluation, kind: str, size: int, roots: Collection[str]
    ) -> Rendered | None:
        """Pictures of the samples of one output, `size` pixels at the longer side."""
        batch = result.outputs[output]
        if batch is None:
            return None
        key = (result.key, output, evaluation.samples, evaluation.total, kind, size)
        found = self._cache.get(key)
        if found is not None:
            return found
        missing = result.missing[output]
        described = summary(batch, evaluation.samples, missing, kind, roots, evaluation.total)
        pictures: list[Picture | None] = []
        for row in positions(len(batch), evaluation.samples, missing):
            if row is None:
                pictures.append(None)
            else:
                pictures.append(picture(batch.array(row), batch.layout, described.kind, described.scale, size))
        found = Rendered(described, pictures)
        self._cache.put(key, found, found.size())
        return found


class Task:
    """Work on another thread whose result is waited for."""

    def __init__(self, pool: ThreadPool, order: int, function: Callable[[], Any]) -> None:
        self._done = threading.Event()
        self._function = function
        self._result: Any = None
        self._error: BaseException | None = None
        pool.submit((1 << 40, order), self._work)

    def _work(self) -> None:
        try:
            self._result = self._function()
        except Exception as error:  # handed to whoever waits
            self._error = error
        finally:
            self._done.set()

    def result(self) -> Any:
        """What it gave, or raised."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result


def output_kinds(graph: Graph) -> dict[str, list[str]]:
    """For each node the kind of each output, as declared; ``"any"`` is the kind of the first input."""
    kinds: dict[str, list[str]] = {}
    with contextlib.suppress(DaliLabError):
        for name in graph.order():
            node = graph.nodes[name]
            if not has_operator(node.op):
                continue
            operator = find_operator(node.op)
            inherited = "any"
            if node.inputs:
                edge = bare(node.inputs[0])
                before = kinds.get(edge.node, [])
                inherited = before[edge.output] if edge.output < len(before) else "any"
            declared = [output.kind for output in operator.present_outputs(node.arguments)]
            count = max(len(declared), operator.output_count(node.arguments))
            declared += declared[-1:] * (count - len(declared))
            kinds[name] = [inherited if kind == "any" else kind for kind in declared]
    return kinds


def label_roots(graph: Graph) -> set[str]:
    """Folders that readers read, whose own names are no labels."""
    roots: set[str] = set()
    for node in graph.nodes.values():
        root = node.arguments.get("file_root")
        if isinstance(root, str):
            roots.add(root.rstrip("/"))
    return roots
