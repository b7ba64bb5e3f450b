"""Work on a graph besides previews: real runs that are timed, sweeps of an argument, and comparisons."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dali_lab.executor.failures import Cancelled
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.studio.document.graph_document import DocumentError, sentence
from dali_lab.studio.document.store import Store
from dali_lab.studio.document.validation import Checked, check
from dali_lab.studio.measuring import measure
from dali_lab.studio.preview.entries import error_entry, picture_entries
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.rendering import Renderer, label_roots, output_kinds
from dali_lab.studio.preview.results import Token

Json = dict[str, Any]
Tell = Callable[[str, Json], None]
_EVERY = 0.1


def run_events(checked: Checked, seed: int, params: Json, token: Token, tell: Tell) -> None:
    """A run from a page, with its progress, up to ``run.done``."""
    run = int(params["run"])
    batches = max(1, min(100_000, int(params.get("batches", 20))))
    empty = {"batches": 0, "samples": 0, "seconds": 0.0, "images_per_second": 0.0, "nodes": {}}
    try:
        graph = checked.runnable
        if not graph.outputs:
            raise DocumentError(_no_outputs(checked.problems))
        pipeline = Pipeline.from_graph(graph, seed=seed)
        last = time.monotonic()

        def watch(done: int, rate: float) -> None:
            nonlocal last
            token.check()
            if time.monotonic() - last >= _EVERY:
                last = time.monotonic()
                tell("run.progress", {"run": run, "done": done, "total": batches, "images_per_second": round(rate, 1)})

        try:
            result = measure(pipeline, batches, watch)
        finally:
            pipeline.close()
        missing = {"missing": [sentence(problem.message) for problem in checked.missing]} if checked.missing else {}
        tell("run.done", {"run": run, "status": "done", **result, **missing})
    except Cancelled:
        tell("run.done", {"run": run, "status": "cancelled", **empty})
    except Exception as error:  # told to the client, which would wait for the end otherwise
        tell("run.done", {"run": run, "status": "failed", **empty, "error": error_entry(error)})


def _no_outputs(problems: list[Any]) -> str:
    first = next((problem for problem in problems if problem.severity != "info"), None)
    if first is None:
        return "Nothing is marked as an output of the pipeline, so there is nothing to run."
    place = f"'{first.node}': " if first.node else ""
    return f"No output can be computed. {place}{first.message}"


def sweep(
    store: Store,
    document: Json,
    seed: int,
    iteration: int,
    params: Json,
    evaluator: Evaluator,
    renderer: Renderer,
    token: Token,
) -> tuple[Json, list[bytes]]:
    """One sample at one node, with an argument set to each of several values.

    Raises
    ------
    DocumentError
        If there is no such node.
    Cancelled
        If the token was used.
    """
    name, argument = str(params["node"]), str(params["argument"])
    output = int(params.get("output", 0))
    sample = max(0, int(params.get("sample", 0)))
    size = max(16, min(1024, int(params.get("thumb", 160))))
    entry = document["nodes"].get(name)
    if entry is None:
        raise DocumentError(f"There is no node '{name}'.", "not_found")
    pictures: list[Any] = []
    errors: list[str | None] = []
    for value in list(params.get("values") or ())[:256]:
        token.check()
        connections = {key: edge for key, edge in (entry.get("connections") or {}).items() if key != argument}
        changed = {
            **entry,
            "arguments": {**(entry.get("arguments") or {}), argument: value},
            "connections": connections,
        }
        variant = {**document, "nodes": {**document["nodes"], name: changed}}
        image, error = _one_picture(
            check(variant, store.objects), seed, iteration, name, output, sample, size, evaluator, renderer, token
        )
        pictures.append(image)
        errors.append(error)
    buffers: list[bytes] = []
    entries = picture_entries(pictures, buffers) or [None] * len(pictures)
    return {"images": entries, "errors": errors}, buffers


def _one_picture(
    checked: Checked,
    seed: int,
    iteration: int,
    name: str,
    output: int,
    sample: int,
    size: int,
    evaluator: Evaluator,
    renderer: Renderer,
    token: Token,
) -> tuple[Any, str | None]:
    if name in checked.blocked:
        return None, checked.blocked[name].message
    if name not in checked.runnable.nodes:
        return None, f"'{name}' cannot be computed yet."
    evaluation = evaluator.evaluate(
        checked.runnable, seed, iteration=iteration, samples=sample + 1, nodes=[name], token=token
    )
    result = evaluation.results.get(name)
    if result is None:
        return None, f"Waits for '{evaluation.waiting.get(name, '')}'."
    failure = next((item for item in result.failures if item.sample in (None, sample)), None)
    if failure is not None:
        return None, str(error_entry(failure.error)["message"])
    if output >= len(result.outputs):
        return None, f"'{name}' has {len(result.outputs)} outputs."
    rendered = renderer.rendered(
        result, output, evaluation, output_kinds(checked.runnable)[name][output], size, label_roots(checked.runnable)
    )
    if rendered is None or sample >= len(rendered.pictures):
        return None, "There is no such sample."
    return rendered.pictures[sample], None


def compare(
    checked: Checked, seed: int, params: Json, evaluator: Evaluator, renderer: Renderer, token: Token
) -> tuple[Json, list[bytes]]:
    """The same samples through another document.

    Raises
    ------
    Cancelled
        If the token was used.
    """
    taps = [(str(tap["node"]), int(tap.get("output", 0))) for tap in params.get("nodes") or ()][:16]
    size = max(32, min(4096, int(params.get("size", 512))))
    evaluation = evaluator.evaluate(
        checked.runnable,
        seed,
        iteration=max(0, int(params.get("iteration", 0))),
        samples=max(1, min(256, int(params.get("samples", 4)))),
        nodes=[name for name, _ in taps if name in checked.runnable.nodes],
        token=token,
    )
    kinds, roots = output_kinds(checked.runnable), label_roots(checked.runnable)
    results, buffers = [], list[bytes]()
    for name, output in taps:
        result = evaluation.results.get(name)
        images: list[Any] = []
        if result is not None and output < len(result.outputs):
            rendered = renderer.rendered(result, output, evaluation, kinds[name][output], size, roots)
            images = picture_entries(rendered.pictures, buffers) if rendered is not None else []
        results.append({"node": name, "output": output, "images": images})
    return {"results": results}, buffers
