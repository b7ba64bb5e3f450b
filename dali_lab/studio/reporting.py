"""The report of a document: its page, with what every node gives for the first batch."""

from __future__ import annotations

from collections.abc import Sequence

from dali_lab.formats.pictures.report import Shown
from dali_lab.graph.graph import Graph
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.rendering import Renderer, label_roots, output_kinds
from dali_lab.studio.preview.results import Evaluation, NodeResult, Token
from dali_lab.studio.protocol.previews import OutputPreview
from dali_lab.studio.protocol.values import SessionError

SAMPLES = 8
SIZE = 96
"""Pixels of the longer side of a picture."""


def shown_nodes(
    graph: Graph, seed: int, evaluator: Evaluator, renderer: Renderer, token: Token | None = None
) -> dict[str, Shown]:
    """Results of each node for the first batch of a graph.

    Raises
    ------
    Cancelled
        If the token was used.
    """
    batch = graph.pipeline.get("batch_size") or SAMPLES
    evaluation = evaluator.evaluate(graph, seed, samples=min(int(batch), SAMPLES), token=token)
    kinds, roots = output_kinds(graph), label_roots(graph)

    def of_node(name: str, result: NodeResult) -> Shown:
        pictures: list[tuple[str, bytes, int, int]] = []
        values: list[str] = []
        summaries: list[str] = []
        for index in range(len(result.outputs)):
            declared = kinds.get(name, [])
            kind = declared[index] if index < len(declared) else "any"
            rendered = renderer.rendered(result, index, evaluation, kind, SIZE, roots)
            if rendered is None:
                continue
            output = rendered.summary.output
            summaries.append(_words(output))
            found = [each for each in rendered.pictures if each is not None]
            pictures += [(each.mime, each.data, each.width, each.height) for each in found]
            if not found:
                values += [text for text in output.values or [] if text]
        spent = None if result.seconds is None else 1000 * result.seconds
        return Shown("; ".join(summaries), pictures, values, spent, _problem(result))

    return {name: of_node(name, result) for name, result in evaluation.results.items()} | _waiting(evaluation)


def _words(output: OutputPreview) -> str:
    if output.kind == "encoded":
        return f"{output.batch} files"
    shapes = [shape for shape in output.shapes if shape]
    extents = "×".join(_span(axis) for axis in zip(*shapes, strict=False)) or "number"
    return f"{output.batch} × {extents}, {output.dtype.lower()} {output.layout}".rstrip()


def _span(extents: Sequence[int]) -> str:
    low, high = min(extents), max(extents)
    return str(low) if low == high else f"{low}–{high}"


def _problem(result: NodeResult) -> str:
    return SessionError.of(result.failures[0].error).message if result.failures else ""


def _waiting(evaluation: Evaluation) -> dict[str, Shown]:
    return {name: Shown(problem=f"Waits for '{other}'.") for name, other in evaluation.waiting.items()}
