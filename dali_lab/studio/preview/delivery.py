"""A preview as events: what each node gave, as pictures and numbers, and nothing that the client already has."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dali_lab.executor.failures import Cancelled
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.schema.registry import find_operator
from dali_lab.studio.document.graph_document import sentence
from dali_lab.studio.document.validation import Checked
from dali_lab.studio.preview.entries import error_entry, node_error, output_entry, picture_entries
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.overlays import Overlay, corners_first, overlays_of, shapes_entry
from dali_lab.studio.preview.rendering import Renderer, Task, label_roots, output_kinds
from dali_lab.studio.preview.results import Evaluation, NodeResult, Token
from dali_lab.studio.preview.summaries import positions

Json = dict[str, Any]
Emit = Callable[[str, Json, list[bytes]], None]
PATIENCE = 0.5
_PROGRESS_EVERY = 0.1


@dataclass(frozen=True)
class PreviewRequest:
    """What a client asked for; the fields are the protocol's."""

    run: int
    iteration: int = 0
    samples: int = 4
    thumb: int = 96
    focus: tuple[tuple[str, int], ...] = ()
    focus_size: int = 512

    @classmethod
    def read(cls, params: Json) -> PreviewRequest:
        """Read a request, with sizes kept within what makes sense.

        Raises
        ------
        ValueError, TypeError
            If it is not what it should be.
        """
        focus = tuple((str(tap["node"]), int(tap.get("output", 0))) for tap in params.get("focus") or ())
        return cls(
            int(params["run"]),
            max(0, int(params.get("iteration", 0))),
            max(1, min(256, int(params.get("samples", 4)))),
            max(16, min(1024, int(params.get("thumb", 96)))),
            focus[:16],
            max(32, min(4096, int(params.get("focus_size", 512)))),
        )


@dataclass
class Delivered:
    """What one client has."""

    nodes: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    focus: dict[tuple[str, int], tuple[Any, ...]] = field(default_factory=dict)

    def clear(self) -> None:
        """The client has nothing any more."""
        self.nodes.clear()
        self.focus.clear()


class _Progress:
    """Tells of progress once it has taken half a second, even while a single step takes long."""

    def __init__(self, emit: Callable[[Json], None]) -> None:
        self._emit = emit
        self._state: tuple[int, int, str] = (0, 0, "")
        self._last = 0.0
        self._due = False
        self._ended = False
        self._timer = threading.Timer(PATIENCE, self._patience_ends)
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, done: int, total: int, node: str) -> None:
        self._state = (done, total, node)
        if self._due and time.monotonic() - self._last >= _PROGRESS_EVERY:
            self._tell()

    def _patience_ends(self) -> None:
        self._due = True
        if not self._ended and self._state[1]:
            self._tell()

    def _tell(self) -> None:
        self._last = time.monotonic()
        done, total, node = self._state
        self._emit({"done": done, "total": total, "node": node})

    def end(self) -> None:
        """No more of it."""
        self._ended = True
        self._due = False
        self._timer.cancel()


def run_preview(
    request: PreviewRequest,
    checked: Checked,
    seed: int,
    evaluator: Evaluator,
    renderer: Renderer,
    delivered: Delivered,
    token: Token,
    emit: Emit,
) -> None:
    """Evaluate and tell: the whole of a preview, from ``preview.started`` to ``preview.done``."""
    began = time.monotonic()
    every = [*checked.draft.graph.nodes, *checked.draft.unfinished]
    emit("preview.started", {"run": request.run, "nodes": len(every)}, [])
    progress = _Progress(lambda state: emit("preview.progress", {"run": request.run, **state}, []))
    status, failure = "done", None
    try:
        token.check()
        teller = _Teller(request, checked, renderer, delivered, token, emit)
        evaluation = evaluator.evaluate(
            checked.runnable,
            seed,
            iteration=request.iteration,
            samples=request.samples,
            token=token,
            progress=progress,
            finished=teller.tell,
        )
        progress.end()
        teller.end(evaluation)
    except Cancelled:
        status = token.reason or "cancelled"
    except Exception as error:  # told to the client, which would wait for the end otherwise
        status, failure = "failed", error_entry(error)
    finally:
        progress.end()
    done: Json = {
        "run": request.run,
        "status": status,
        "total_ms": round((time.monotonic() - began) * 1000, 1),
        "seed": seed,
        "iteration": request.iteration,
    }
    if failure is not None:
        done["error"] = failure
    emit("preview.done", done, [])


class _Teller:
    """Tells a client of the nodes of one preview, each once."""

    def __init__(
        self,
        request: PreviewRequest,
        checked: Checked,
        renderer: Renderer,
        delivered: Delivered,
        token: Token,
        emit: Emit,
    ) -> None:
        self._request = request
        self._checked = checked
        self._renderer = renderer
        self._delivered = delivered
        self._token = token
        self._emit = emit
        self._kinds = output_kinds(checked.runnable)
        self._roots = label_roots(checked.runnable)
        self._order = checked.runnable.order()
        self._told: set[str] = set()
        self._unchanged: dict[str, float | None] = {}
        present = {*checked.draft.graph.nodes, *checked.draft.unfinished, *checked.draft.switched.off}
        for name in list(delivered.nodes):
            if name not in present:
                del delivered.nodes[name]

    def tell(self, evaluation: Evaluation) -> None:
        """Tell of the nodes that have results by now and were not told of."""
        fresh: list[tuple[str, tuple[Any, ...], list[Task]]] = []
        for order, name in enumerate(self._order):
            result = evaluation.results.get(name)
            if result is None or name in self._told:
                continue
            self._told.add(name)
            signature = (result.key, evaluation.samples, evaluation.total, self._request.thumb, len(result.failures))
            if self._delivered.nodes.get(name) == signature:
                self._unchanged[name] = _milliseconds(result)
            else:
                fresh.append((name, signature, self._tasks(order, result, evaluation, self._kinds.get(name, []))))
        for name, signature, tasks in fresh:
            rendered = [task.result() for task in tasks]
            self._token.check()
            result = evaluation.results[name]
            buffers: list[bytes] = []
            event: Json = {
                "run": self._request.run,
                "node": name,
                "time_ms": _milliseconds(result),
                "cached": name not in evaluation.computed,
                "outputs": [output_entry(item, buffers) for item in rendered if item is not None],
            }
            if result.failures:
                event["error"] = node_error(result)
            self._emit("preview.node", event, buffers)
            self._delivered.nodes[name] = signature

    def _tasks(self, order: int, result: NodeResult, evaluation: Evaluation, kinds: list[str]) -> list[Task]:
        size, roots, renderer = self._request.thumb, self._roots, self._renderer
        return [
            Task(
                renderer.pool,
                order,
                partial(
                    renderer.rendered,
                    result,
                    index,
                    evaluation,
                    kinds[index] if index < len(kinds) else "any",
                    size,
                    roots,
                ),
            )
            for index in range(len(result.outputs))
        ]

    def end(self, evaluation: Evaluation) -> None:
        """Tell of what is left: nodes without results, what the client has already, and the large pictures."""
        self.tell(evaluation)
        self._tell_others(evaluation)
        if self._unchanged:
            self._emit("preview.unchanged", {"run": self._request.run, "nodes": self._unchanged}, [])
        self._tell_focus(evaluation)

    def _tell_others(self, evaluation: Evaluation) -> None:
        checked = self._checked
        entries: dict[str, Json] = {}
        for name, problem in checked.blocked.items():
            if problem.severity == "warning":
                entries[name] = {"skipped": {"message": sentence(problem.message)}}
            else:
                entries[name] = {"error": {"message": sentence(problem.message), "argument": problem.argument}}
        for name, cause in {**checked.waiting, **evaluation.waiting}.items():
            entries.setdefault(name, {"skipped": {"message": f"Waits for '{cause}'.", "node": cause}})
        switched = checked.draft.switched
        for name, cause in switched.off.items():
            text = f"Off: {switched.reason(cause)}." if name != cause else "Disabled."
            entries[name] = {"skipped": {"message": text, "node": cause, "off": True}}
        for name, entry in entries.items():
            signature = ("not computed", repr(entry))
            if self._delivered.nodes.get(name) == signature:
                self._unchanged[name] = None
                continue
            event = {"run": self._request.run, "node": name, "time_ms": None, "cached": False, "outputs": [], **entry}
            self._emit("preview.node", event, [])
            self._delivered.nodes[name] = signature

    def _tell_focus(self, evaluation: Evaluation) -> None:
        request, delivered = self._request, self._delivered
        for tap in [tap for tap in delivered.focus if tap not in request.focus]:
            del delivered.focus[tap]
        for node, output in request.focus:
            result = evaluation.results.get(node)
            if result is None or output >= len(result.outputs):
                # The client has let go of the pictures of a node that is off.
                delivered.focus.pop((node, output), None)
                continue
            over = self._overlays(evaluation, Edge(node, output))
            seen = tuple((item.kind, item.edge, evaluation.results[item.edge.node].key) for item in over)
            signature = (result.key, evaluation.samples, request.focus_size, seen)
            event: Json = {"run": request.run, "node": node, "output": output}
            if delivered.focus.get((node, output)) == signature:
                self._emit("preview.focus", {**event, "images": [], "unchanged": True}, [])
                continue
            self._token.check()
            kind = self._kinds[node][output]
            rendered = self._renderer.rendered(result, output, evaluation, kind, request.focus_size, self._roots)
            buffers: list[bytes] = []
            images = picture_entries(rendered.pictures if rendered else [], buffers)
            overlays = [self._overlay_entry(evaluation, Edge(node, output), item, buffers) for item in over]
            self._emit("preview.focus", {**event, "images": images, "overlays": overlays}, buffers)
            delivered.focus[node, output] = signature

    def _overlays(self, evaluation: Evaluation, tap: Edge) -> list[Overlay]:
        """What is drawn over a picture, as far as it was computed."""
        found = overlays_of(self._checked.runnable, self._kinds, tap)
        return [item for item in found if self._batch(evaluation, item.edge) is not None]

    def _batch(self, evaluation: Evaluation, edge: Edge) -> Batch | None:
        result = evaluation.results.get(edge.node)
        return result.outputs[edge.output] if result is not None and edge.output < len(result.outputs) else None

    def _overlay_entry(self, evaluation: Evaluation, tap: Edge, overlay: Overlay, buffers: list[bytes]) -> Json:
        edge, graph = overlay.edge, self._checked.runnable
        result, batch = evaluation.results[edge.node], self._batch(evaluation, edge)
        assert batch is not None
        if overlay.kind == "mask":
            size = self._request.focus_size
            rendered = self._renderer.rendered(result, edge.output, evaluation, "mask", size, self._roots)
            images = picture_entries(rendered.pictures if rendered else [], buffers)
            return {"kind": "mask", "node": edge.node, "output": edge.output, "images": images}
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
        return shapes_entry(overlay, batch, rows, size_of, corners_first(graph, edge))


def _milliseconds(result: NodeResult) -> float | None:
    return None if result.seconds is None else round(result.seconds * 1000, 2)


__all__ = ["Delivered", "PreviewRequest", "run_preview"]
