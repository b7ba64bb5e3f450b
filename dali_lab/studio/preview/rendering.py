"""Renders outputs of nodes as pictures: encoded on threads of their own, and cached."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from msgspec import structs

from dali_lab.graph.graph import Graph, bare
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.registry import find_operator, has_operator
from dali_lab.studio.preview.cache import Cache
from dali_lab.studio.preview.pictures import Picture, picture
from dali_lab.studio.preview.results import Evaluation, NodeResult
from dali_lab.studio.preview.summaries import Summary, positions, shown_kind, summary
from dali_lab.studio.protocol.previews import OutputPreview
from dali_lab.studio.protocol.values import PictureRef

_SUMMARY_BYTES = 2048
_SUMMARIES = 256
_KINDS = 4096


@dataclass
class Rendered:
    """Pictures of an output, encoded."""

    summary: Summary
    pictures: list[Picture | None]

    def size(self) -> int:
        """Bytes that keeping it takes."""
        return _SUMMARY_BYTES + sum(len(item.data) for item in self.pictures if item is not None)

    def output(self, buffers: list[bytes]) -> OutputPreview:
        """The output with its pictures, whose bytes are added to `buffers`."""
        return structs.replace(self.summary.output, images=picture_refs(self.pictures, buffers))


def picture_refs(pictures: Sequence[Picture | None], buffers: list[bytes]) -> list[PictureRef | None]:
    """Pictures as messages refer to them; their bytes are added to `buffers`. Empty where none is a picture."""
    return [picture_ref(item, buffers) for item in pictures] if any(pictures) else []


def picture_ref(item: Picture | None, buffers: list[bytes]) -> PictureRef | None:
    """A picture as messages refer to it; its bytes are added to `buffers`."""
    if item is None:
        return None
    buffers.append(item.data)
    return PictureRef(len(buffers) - 1, item.mime, item.width, item.height)


class Renderer:
    """Makes pictures on threads of its own, and remembers them.

    Parameters
    ----------
    threads
        Number of threads; the evaluator's are not used, as a compiler may hold them up.
    memory
        Bytes of pictures to remember.
    """

    def __init__(self, threads: int, memory: int = 128 << 20) -> None:
        self.pool = ThreadPoolExecutor(threads, "dali-lab-pictures")
        self._threads = threads
        self._cache: Cache[Rendered] = Cache(memory)
        # Thumbnails and large pictures of an output have the same summary.
        self._summaries: Cache[Summary] = Cache(_SUMMARIES * _SUMMARY_BYTES)
        self._kinds: Cache[str] = Cache(_KINDS)

    def close(self) -> None:
        """End the threads and forget all pictures."""
        self.pool.shutdown(cancel_futures=True)
        self._cache.clear()
        self._summaries.clear()
        self._kinds.clear()

    def shown_kind(self, result: NodeResult, output: int, declared: str) -> str:
        """The kind as which an output is shown, for which its elements are looked at once."""
        batch = result.outputs[output]
        if batch is None:
            return declared
        content = (result.key, output, len(batch), declared)
        found = self._kinds.get(content)
        if found is None:
            found = shown_kind(batch, declared)
            self._kinds.put(content, found, 1)
        return found

    def rendered(
        self, result: NodeResult, output: int, evaluation: Evaluation, kind: str, size: int, roots: Collection[str]
    ) -> Rendered | None:
        """Pictures of the samples of one output, `size` pixels at the longer side."""
        batch = result.outputs[output]
        if batch is None:
            return None
        content = (result.key, output, evaluation.samples, evaluation.total, kind)
        found = self._cache.get((content, size))
        if found is not None:
            return found
        missing = result.missing[output]
        described = self._summaries.get(content)
        if described is None:
            described = summary(batch, evaluation.samples, missing, kind, roots, evaluation.total)
            if missing:
                shown = range(evaluation.samples)
                described.output.lost = [evaluation.reason(sample) if sample in missing else None for sample in shown]
            self._summaries.put(content, described, _SUMMARY_BYTES)
        kind, scale = described.output.kind, described.scale

        def make(rows: Sequence[int | None]) -> list[Picture | None]:
            return [None if row is None else picture(batch.array(row), batch.layout, kind, scale, size) for row in rows]

        pictures = self._shared(make, positions(len(batch), evaluation.samples, missing))
        found = Rendered(described, pictures)
        self._cache.put((content, size), found, found.size())
        return found

    def _shared(
        self, make: Callable[[Sequence[int | None]], list[Picture | None]], rows: Sequence[int | None]
    ) -> list[Picture | None]:
        """Pictures of rows, some of them made by threads that are idle; also called on these threads."""
        count = -(-len(rows) // self._threads)
        parts = [rows[start : start + count] for start in range(0, len(rows), max(1, count))]
        offered: list[Future[list[Picture | None]]] = []
        with contextlib.suppress(RuntimeError):  # the threads have been ended
            offered += [self.pool.submit(make, part) for part in parts[1:]]
        pictures = make(parts[0]) if parts else []
        for index, part in enumerate(parts[1:]):
            taken = index < len(offered) and not offered[index].cancel()
            pictures += offered[index].result() if taken else make(part)
        return pictures


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
