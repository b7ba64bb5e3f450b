"""The delivery of a preview: each node's pictures and numbers as events, without those that the client already has."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field

from dali_lab.executor.failures import Cancelled
from dali_lab.graph.graph import Edge, bare
from dali_lab.graph.switches import switches
from dali_lab.model.batch import Batch
from dali_lab.schema.registry import find_operator
from dali_lab.studio.document.validation import CheckedDocument
from dali_lab.studio.errors import about
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.overlays import Overlay, corners_first, overlays_of, shapes_overlay
from dali_lab.studio.preview.rendering import Rendered, Renderer, label_roots, output_kinds, picture_refs
from dali_lab.studio.preview.results import Evaluation, NodeResult, Token
from dali_lab.studio.preview.sources import pins_of
from dali_lab.studio.preview.summaries import positions
from dali_lab.studio.protocol.previews import (
    DoneEvent,
    FocusEvent,
    MaskOverlay,
    NodeEvent,
    PreviewProgress,
    PreviewRequest,
    PreviewStarted,
    PreviewUnchanged,
    ShapesOverlay,
    Skipped,
)
from dali_lab.studio.protocol.values import NodeFailure, SessionError, within

Tell = Callable[..., None]
PATIENCE = 0.5
_PROGRESS_EVERY = 0.1
_TOGETHER = 0.03
_HEAD_START = 0.005
"""Seconds in which the last node's pictures leave, which the threads that make the others would hold up."""
_MOST_IN_FOCUS = 16


@dataclass
class DeliveredResults:
    """The results that one client has: signatures by node, and by output for outputs in focus."""

    nodes: dict[str, tuple[object, ...]] = field(default_factory=dict)
    focus: dict[tuple[str, int], tuple[object, ...]] = field(default_factory=dict)

    def clear(self) -> None:
        """Note that the client has no results any more."""
        self.nodes.clear()
        self.focus.clear()


@dataclass
class _Fresh:
    """Pictures that the client does not have, which are being made, and the event that they go with."""

    rendering: list[Future[Rendered | None]]
    tell: Callable[[list[Rendered | None]], None]


class _Progress:
    """Sends progress events after half a second, where there is any."""

    def __init__(self, report: Callable[[int, int, str], None]) -> None:
        self._report = report
        self._next = time.monotonic() + PATIENCE
        self._told: tuple[int, int, str] | None = None

    def __call__(self, done: int, total: int, node: str) -> None:
        now, state = time.monotonic(), (done, total, node)
        if now >= self._next and state != self._told:
            self._next, self._told = now + _PROGRESS_EVERY, state
            self._report(*state)

    def end(self) -> None:
        """No more of it."""
        self._next = math.inf


class Delivery:
    """Sends the results of one preview to a client, each node once.

    Parameters
    ----------
    request, checked
        The request, and the checked document.
    renderer
        Makes the pictures.
    delivered
        The results that the client has.
    token
        Stops it.
    tell
        Called as ``tell(event, buffers)``.
    """

    def __init__(
        self,
        request: PreviewRequest,
        checked: CheckedDocument,
        renderer: Renderer,
        delivered: DeliveredResults,
        token: Token,
        tell: Tell,
    ) -> None:
        self._run = request.run
        self._iteration = max(0, request.iteration)
        self._samples = within(request.samples, 1, 256)
        self._thumb = within(request.thumb, 16, 1024)
        self._focus = [(tap.node, tap.output) for tap in request.focus[:_MOST_IN_FOCUS]]
        self._focus_size = within(request.focus_size, 32, 4096)
        self._pins = pins_of(request.pins, request.pinned_of)
        self._checked = checked
        self._renderer = renderer
        self._delivered = delivered
        self._token = token
        self._tell = tell
        self._kinds = output_kinds(checked.runnable)
        self._roots = label_roots(checked.runnable)
        self._instances = checked.instances
        # A sub-graph stands where the last node inside stands.
        order = [self._instances.owner(name) for name in checked.runnable.order()]
        self._order = list(dict.fromkeys(reversed(order)))[::-1]
        for name in self._instances.by_name:
            edges = [bare(edge) for edge in self._instances.edges(name)]
            self._kinds[name] = [self._kind(edge) for edge in edges]
        self._told: set[str] = set()
        self._unchanged: dict[str, float | None] = {}

    def _kind(self, edge: Edge) -> str:
        kinds = self._kinds.get(edge.node, [])
        return kinds[edge.output] if edge.output < len(kinds) else "any"

    def _result(self, name: str, evaluation: Evaluation) -> NodeResult | None:
        """The result of a node or a sub-graph, once it is there."""
        instance = self._instances.by_name.get(name)
        if instance is None:
            return evaluation.results.get(name)
        return evaluation.combined(self._instances.edges(name), instance.members)

    def run(self, evaluator: Evaluator, seed: int) -> None:
        """Run the whole preview, from ``preview.started`` to ``preview.done``."""
        began = time.monotonic()
        draft = self._checked.draft
        self._tell(PreviewStarted(self._run, len(draft.graph.nodes) + len(draft.unfinished)))
        owner = self._instances.owner
        progress = _Progress(lambda done, total, node: self._tell(PreviewProgress(self._run, done, total, owner(node))))
        status, failure = "done", None
        try:
            self._token.check()
            there = {*draft.graph.nodes, *draft.unfinished, *draft.switched.off, *self._instances.by_name}
            for name in self._delivered.nodes.keys() - there:
                del self._delivered.nodes[name]
            evaluation = evaluator.evaluate(
                self._checked.runnable,
                seed,
                iteration=self._iteration,
                samples=self._samples,
                pins=self._pins,
                token=self._token,
                progress=progress,
                finished=self._tell_computed,
            )
            progress.end()
            self._tell_rest(evaluation)
            self._tell_not_computed(evaluation)
            self._tell_unchanged()
        except Cancelled:
            status = self._token.reason or "cancelled"
        except Exception as error:  # reported to the client, which would wait for the end otherwise
            status, failure = "failed", SessionError.of(error)
        finally:
            progress.end()
        seconds = time.monotonic() - began
        self._tell(DoneEvent(self._run, status, round(seconds * 1000, 1), seed, self._iteration, failure))

    def _tell_computed(self, evaluation: Evaluation) -> None:
        """Send the nodes that have results by now and were not sent yet, with their pictures in focus.

        Pictures in focus that came at the end alone would stand beside newer ones for as long as the other nodes take.
        """
        nodes = [self._fresh_node(name, result, evaluation) for name, result in self._untold(evaluation)]
        self._tell_unchanged()
        self._tell_fresh([*nodes, *self._fresh_focus(evaluation)])

    def _tell_rest(self, evaluation: Evaluation) -> None:
        """Send all that was not sent yet: the last node first, as the others' pictures would slow it down."""
        untold = self._untold(evaluation)
        last = [self._fresh_node(*untold.pop(), evaluation)] if untold else []
        if last and not wait(last[0].rendering, _TOGETHER).not_done:
            self._tell_fresh(last)
            last = []
            time.sleep(_HEAD_START)
        nodes = [self._fresh_node(name, result, evaluation) for name, result in untold]
        self._tell_fresh([*nodes, *last, *self._fresh_focus(evaluation, whole=True)])

    def _tell_unchanged(self) -> None:
        """Name the nodes of which the client has the results."""
        if self._unchanged:
            self._tell(PreviewUnchanged(self._run, self._unchanged))
            self._unchanged = {}

    def _untold(self, evaluation: Evaluation) -> list[tuple[str, NodeResult]]:
        """The nodes that have results which the client lacks, from now on taken for sent."""
        untold: list[tuple[str, NodeResult]] = []
        for name in self._order:
            if name in self._told or (result := self._result(name, evaluation)) is None:
                continue
            self._told.add(name)
            if self._delivered.nodes.get(name) == self._signature(result, evaluation):
                self._unchanged[name] = _milliseconds(result)
            else:
                untold.append((name, result))
        return untold

    def _signature(self, result: NodeResult, evaluation: Evaluation) -> tuple[object, ...]:
        return (result.key, evaluation.samples, evaluation.total, self._thumb, len(result.failures))

    def _tell_fresh(self, fresh: Sequence[_Fresh]) -> None:
        """Send events once their pictures are made.

        Those that are ready within a moment go together, as a page draws all that comes at once in one frame.
        """
        ready: list[_Fresh] = []
        ends = time.monotonic() + _TOGETHER
        for item in fresh:
            if wait(item.rendering, max(0.0, ends - time.monotonic())).not_done:
                self._tell_ready(ready)
                ready, ends = [], time.monotonic() + _TOGETHER
            ready.append(item)
        self._tell_ready(ready)

    def _tell_ready(self, ready: Sequence[_Fresh]) -> None:
        made = [[future.result() for future in item.rendering] for item in ready]
        for item, rendered in zip(ready, made, strict=True):
            self._token.check()
            item.tell(rendered)

    def _fresh_node(self, name: str, result: NodeResult, evaluation: Evaluation) -> _Fresh:
        """A node whose pictures are made on other threads."""
        kinds = self._kinds.get(name, [])

        def tell(rendered: list[Rendered | None]) -> None:
            buffers: list[bytes] = []
            outputs = [item.output(buffers) for item in rendered if item is not None]
            cached = evaluation.computed.isdisjoint(self._members(name))
            failure = self._failure(result) if result.failures else None
            self._tell(NodeEvent(self._run, name, _milliseconds(result), cached, outputs, failure), buffers)
            self._delivered.nodes[name] = self._signature(result, evaluation)
            # Of other samples than before, the client has discarded the pictures in focus.
            for tap in [tap for tap in self._delivered.focus if tap[0] == name]:
                del self._delivered.focus[tap]

        rendering = [
            self._rendering(result, index, evaluation, kinds[index] if index < len(kinds) else "any", self._thumb)
            for index in range(len(result.outputs))
        ]
        return _Fresh(rendering, tell)

    def _rendering(
        self, result: NodeResult, output: int, evaluation: Evaluation, kind: str, size: int
    ) -> Future[Rendered | None]:
        """The pictures of an output, made on other threads."""
        renderer = self._renderer
        return renderer.pool.submit(renderer.rendered, result, output, evaluation, kind, size, self._roots)

    def _members(self, name: str) -> Sequence[str]:
        instance = self._instances.by_name.get(name)
        return (name,) if instance is None else instance.members

    def _failure(self, result: NodeResult) -> NodeFailure:
        """The first thing that went wrong at a node, and how many samples failed like it."""
        first = result.failures[0]
        error = SessionError.of(first.error)
        others = len(result.failures) - 1
        more = f" ({others} more of {result.count} samples failed.)" if others and first.sample is not None else ""
        message, argument = error.message + more, error.argument
        if error.node is not None:
            message = self._instances.words(error.node, message)
            argument = self._instances.argument(error.node, argument)
        return NodeFailure(message, argument, first.sample, error.file, error.line)

    def _tell_not_computed(self, evaluation: Evaluation) -> None:
        checked = self._checked
        reasons: dict[str, NodeFailure | Skipped] = {}
        owner = self._instances.owner
        for problem in map(self._instances.problem, checked.blocked.values()):
            name = str(problem.node)
            if problem.severity == "warning":
                reasons.setdefault(name, Skipped(about(problem.message, problem.argument)))
            else:
                reasons.setdefault(name, NodeFailure(about(problem.message, problem.argument), problem.argument))
        for inside, cause in {**checked.waiting, **evaluation.waiting}.items():
            name, by = owner(inside), owner(cause)
            if by != name:
                reasons.setdefault(name, Skipped(f"Waits for '{by}'.", by))
        for name, instance in self._instances.by_name.items():
            inner = (evaluation.results.get(member) for member in instance.members)
            broken = next((result for result in inner if result is not None and result.failures), None)
            if broken is not None and name not in self._told:
                reasons[name] = self._failure(broken)
        switched, passed = checked.draft.switched, switches(checked.draft.graph.view)
        for name, by in dict.fromkeys((owner(inside), owner(cause)) for inside, cause in switched.off.items()):
            if name in self._told or (name == by and passed.get(name) == "bypass"):
                continue  # only some of what is inside is off, or a sub-graph hands on what it is given
            text = f"Off: {switched.reason(by)}." if name != by else "Disabled."
            reasons[name] = Skipped(text, by, off=True)
        for name, reason in reasons.items():
            if name in self._told:
                continue
            told = ("not computed", reason)
            if self._delivered.nodes.get(name) == told:
                self._unchanged[name] = None
                continue
            failed, skipped = (reason, None) if isinstance(reason, NodeFailure) else (None, reason)
            self._tell(NodeEvent(self._run, name, None, False, [], failed, skipped))
            self._delivered.nodes[name] = told

    def _fresh_focus(self, evaluation: Evaluation, *, whole: bool = False) -> list[_Fresh]:
        """The outputs in focus that have other pictures than the client; `whole` once nothing more is computed."""
        fresh: list[_Fresh] = []
        delivered = self._delivered.focus
        for tap in delivered.keys() - set(self._focus):
            del delivered[tap]
        for node, output in self._focus:
            at = self._instances.edge(node, output)
            result = evaluation.results.get(at.node)
            if result is None or at.output >= len(result.outputs):
                if whole:  # the client has discarded the pictures of a node that is off
                    delivered.pop((node, output), None)
                continue
            over = self._overlays(evaluation, at)
            seen = tuple((item.kind, item.edge, evaluation.results[item.edge.node].key) for item in over)
            signature = (result.key, evaluation.samples, self._focus_size, seen)
            if delivered.get((node, output)) == signature:
                if whole:
                    self._tell(FocusEvent(self._run, node, output, [], unchanged=True))
                continue

            def tell(
                rendered: list[Rendered | None],
                tap: tuple[str, int] = (node, output),
                at: Edge = at,
                over: list[Overlay] = over,
                signature: tuple[object, ...] = signature,
            ) -> None:
                buffers: list[bytes] = []
                images = picture_refs(rendered[0].pictures if rendered[0] else [], buffers)
                overlays = [self._overlay(evaluation, at, item, buffers) for item in over]
                self._tell(FocusEvent(self._run, *tap, images, overlays=overlays), buffers)
                delivered[tap] = signature

            fresh.append(
                _Fresh([self._rendering(result, at.output, evaluation, self._kind(at), self._focus_size)], tell)
            )
        return fresh

    def _overlays(self, evaluation: Evaluation, tap: Edge) -> list[Overlay]:
        """The overlays of a picture that were computed."""
        kinds = {
            name: [self._shown(evaluation, Edge(name, output), kind) for output, kind in enumerate(declared)]
            for name, declared in self._kinds.items()
        }
        found = overlays_of(self._checked.runnable, kinds, tap)
        return [item for item in found if self._batch(evaluation, item.edge) is not None]

    def _shown(self, evaluation: Evaluation, edge: Edge, declared: str) -> str:
        """The kind as which an output is shown: pictures that hold classes are masks."""
        result = evaluation.results.get(edge.node) if declared == "image" else None
        if result is None or edge.output >= len(result.outputs):
            return declared
        return self._renderer.shown_kind(result, edge.output, declared)

    def _batch(self, evaluation: Evaluation, edge: Edge) -> Batch | None:
        result = evaluation.results.get(edge.node)
        return result.outputs[edge.output] if result is not None and edge.output < len(result.outputs) else None

    def _overlay(
        self, evaluation: Evaluation, tap: Edge, overlay: Overlay, buffers: list[bytes]
    ) -> ShapesOverlay | MaskOverlay:
        edge, graph = overlay.edge, self._checked.runnable
        result, batch = evaluation.results[edge.node], self._batch(evaluation, edge)
        assert batch is not None
        if overlay.kind == "mask":
            rendered = self._renderer.rendered(result, edge.output, evaluation, "mask", self._focus_size, self._roots)
            images = picture_refs(rendered.pictures if rendered else [], buffers)
            return MaskOverlay("mask", edge.node, edge.output, images)
        # Coordinates in pixels are those of the picture as it was decoded.
        decoded = [name for name in graph.ancestors([tap.node]) if find_operator(graph.nodes[name].op).decodes]
        source = Edge(decoded[0]) if len(decoded) == 1 else tap
        pictures = self._batch(evaluation, source)
        lacking = evaluation.results[source.node].missing[source.output] if pictures is not None else ()

        def size_of(sample: int) -> tuple[int, int] | None:
            if pictures is None or "H" not in pictures.layout or "W" not in pictures.layout:
                return None
            row = positions(len(pictures), evaluation.samples, lacking)[sample]
            if row is None:
                return None
            shape = pictures.shapes[row]
            return int(shape[pictures.layout.index("W")]), int(shape[pictures.layout.index("H")])

        rows = positions(len(batch), evaluation.samples, result.missing[edge.output])
        return shapes_overlay(overlay, batch, rows, size_of, corners_first(graph, edge))


def _milliseconds(result: NodeResult) -> float | None:
    return None if result.seconds is None else round(result.seconds * 1000, 2)
