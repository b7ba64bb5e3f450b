"""Work on a graph besides previews: real runs that are timed, sweeps of an argument, and comparisons."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from dali_lab.graph.verification import Problem
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.studio import cluster
from dali_lab.studio.document.validation import CheckedDocument, check
from dali_lab.studio.errors import DocumentError, sentence
from dali_lab.studio.measuring import measure
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.pictures import Picture
from dali_lab.studio.preview.rendering import Renderer, label_roots, output_kinds, picture_refs
from dali_lab.studio.preview.results import Evaluation, Token
from dali_lab.studio.preview.sources import pins_of
from dali_lab.studio.protocol.documents import Document, GraphNode
from dali_lab.studio.protocol.previews import (
    Compared,
    ComparedTap,
    CompareRequest,
    RunDone,
    RunProgress,
    RunRequest,
    SweepRequest,
    Swept,
)
from dali_lab.studio.protocol.values import PictureRef, SessionError, within
from dali_lab.studio.work import Work

without_results = partial(RunDone, 0, 0, 0.0, 0.0, {})
"""The end of a run that measured nothing."""


def run_pipeline(work: Work, request: RunRequest) -> RunDone:
    """Do a real run, which reads and writes in the roots alone."""
    checked, run, batches = work.checked, request.run, within(request.batches, 1, 100_000)
    graph, note = checked.with_ends() if checked.unmarked else (checked.runnable, None)
    if not graph.outputs:
        raise DocumentError(_no_outputs(checked.problems))
    missing = [sentence(problem.message) for problem in checked.missing] + ([note] if note else [])
    if request.on_cluster:
        told = cluster.run(graph, work.seed, work.roots, work.token, lambda *now: work.tell(RunProgress(run, *now)))
        return structs.replace(told, run=run, missing=missing or None)
    with work.roots.limiting(writes=True), closing(Pipeline.from_graph(graph, seed=work.seed)) as pipeline:
        measured = measure(
            pipeline, batches, lambda done, rate: work.progress(RunProgress(run, done, batches, round(rate, 1)))
        )
    return RunDone(**structs.asdict(measured), run=run, status="done", missing=missing or None)


def _no_outputs(problems: list[Problem]) -> str:
    first = next((problem for problem in problems if problem.severity != "info"), None)
    if first is None:
        return "There are no nodes yet, so there is nothing to run."
    place = f"'{first.node}': " if first.node else ""
    return f"No output can be computed. {place}{first.message}"


@dataclass(frozen=True)
class Pictures:
    """Makes pictures of variants of a document.

    Attributes
    ----------
    permissions
        What documents may use.
    """

    evaluator: Evaluator
    renderer: Renderer
    permissions: Permissions

    def sweep(self, document: Document, seed: int, request: SweepRequest, token: Token) -> tuple[Swept, list[bytes]]:
        """One sample at one node, with an argument set to each of several values.

        Raises
        ------
        DocumentError
            If there is no such node.
        Cancelled
            If the token was used.
        """
        name, argument = request.node, request.argument
        entry = document["nodes"].get(name)
        if entry is None:
            raise DocumentError(f"There is no node '{name}'.", "not_found")
        also = request.also or {}
        given = {argument, *also}
        connections = {key: edge for key, edge in (entry.get("connections") or {}).items() if key not in given}
        pictures: list[Picture | None] = []
        errors: list[str | None] = []
        for value in request.values[:256]:
            token.check()
            arguments = {**(entry.get("arguments") or {}), **also, argument: value}
            changed: GraphNode = {**entry, "arguments": arguments, "connections": connections}
            variant = check({**document, "nodes": {**document["nodes"], name: changed}}, self.permissions)
            found = self._picture(variant, seed, request, token)
            pictures.append(found if isinstance(found, Picture) else None)
            errors.append(found if isinstance(found, str) else None)
        buffers: list[bytes] = []
        images = picture_refs(pictures, buffers) or [None] * len(pictures)
        return Swept(images, errors), buffers

    def _picture(
        self, checked: CheckedDocument, seed: int, request: SweepRequest, token: Token
    ) -> Picture | str | None:
        """The picture of one sample, or why there is none."""
        sample, iteration = max(0, request.sample), max(0, request.iteration)
        graph, instances = checked.runnable, checked.instances
        shown = request.node if request.shown is None else request.shown
        name, output, _ = instances.edge(shown, request.output)
        blocked = next((each for each in checked.blocked if instances.owner(each) in (request.node, shown)), name)
        if blocked in checked.blocked:
            return instances.problem(checked.blocked[blocked]).message
        if name not in graph.nodes:
            return f"'{name}' cannot be computed yet."
        evaluation = self.evaluator.evaluate(
            graph,
            seed,
            iteration=iteration,
            samples=sample + 1,
            nodes=[name],
            token=token,
            pins=pins_of(request.pins, request.pinned_of),
        )
        result = evaluation.results.get(name)
        if result is None:
            return _waits(evaluation, name)
        failure = next((item for item in result.failures if item.sample in (None, sample)), None)
        if failure is not None:
            return SessionError.of(failure.error).message
        if output >= len(result.outputs):
            return f"'{name}' has {len(result.outputs)} outputs."
        kind, size = output_kinds(graph)[name][output], within(request.thumb, 16, 1024)
        rendered = self.renderer.rendered(result, output, evaluation, kind, size, label_roots(graph))
        if rendered is None or sample >= len(rendered.pictures):
            return "There is no such sample."
        return rendered.pictures[sample]

    def compare(
        self, document: Document, seed: int, request: CompareRequest, token: Token
    ) -> tuple[Compared, list[bytes]]:
        """The same samples through another document.

        Raises
        ------
        Cancelled
            If the token was used.
        """
        taps, size = request.nodes[:16], within(request.size, 32, 4096)
        checked = check(document, self.permissions)
        graph, edge = checked.runnable, checked.instances.edge
        edges = [edge(tap.node, tap.output) for tap in taps]
        evaluation = self.evaluator.evaluate(
            graph,
            seed,
            iteration=max(0, request.iteration),
            samples=within(request.samples, 1, 256),
            nodes=[each.node for each in edges if each.node in graph.nodes],
            token=token,
            pins=pins_of(request.pins, request.pinned_of),
        )
        kinds, roots = output_kinds(graph), label_roots(graph)
        results: list[ComparedTap] = []
        buffers: list[bytes] = []
        for tap, at in zip(taps, edges, strict=True):
            result = evaluation.results.get(at.node)
            images: list[PictureRef | None] = []
            if result is not None and at.output < len(result.outputs):
                kind = kinds[at.node][at.output]
                rendered = self.renderer.rendered(result, at.output, evaluation, kind, size, roots)
                images = picture_refs(rendered.pictures, buffers) if rendered is not None else []
            results.append(ComparedTap(tap.node, tap.output, images))
        return Compared(results), buffers


def _waits(evaluation: Evaluation, name: str) -> str:
    """Why a node has no result: the error of the node that it waits for, if there is one."""
    cause = evaluation.waiting.get(name, "")
    failed = evaluation.results.get(cause)
    return SessionError.of(failed.failures[0].error).message if failed and failed.failures else f"Waits for '{cause}'."
