"""Answers the requests of the dataset view, on a thread of its own, with an evaluator of its own for thumbnails."""

from __future__ import annotations

from collections import OrderedDict

from dali_lab.graph.graph import Graph
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.registry import find_operator
from dali_lab.studio.connections import Request
from dali_lab.studio.dataset.samples import Samples
from dali_lab.studio.document.validation import CheckedDocument
from dali_lab.studio.errors import DocumentError, sentence
from dali_lab.studio.jobs import Jobs
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.rendering import Renderer, output_kinds, picture_ref
from dali_lab.studio.preview.sources import Pins, digest, paths_state, values
from dali_lab.studio.protocol.checks import CheckDone
from dali_lab.studio.protocol.datasets import DatasetPage, DatasetRequest, DatasetSample
from dali_lab.studio.protocol.values import Wire, within

MOST_IN_PAGE = 200
_KEPT = 2
Answer = tuple[Wire, list[bytes]]


class Datasets:
    """The datasets that a session's readers read.

    Parameters
    ----------
    permissions
        What may be read.
    """

    def __init__(self, permissions: Permissions) -> None:
        self._permissions = permissions
        self._samples: OrderedDict[str, Samples] = OrderedDict()
        self._damaged: frozenset[str] = frozenset()
        self._evaluator: Evaluator | None = None
        self._renderer: Renderer | None = None
        self._jobs = Jobs("dali-lab-dataset")

    def close(self) -> None:
        """End all work."""
        self._jobs.close()
        for samples in self._samples.values():
            samples.close()
        if self._evaluator is not None:
            self._evaluator.close()
        if self._renderer is not None:
            self._renderer.close()

    def note_check(self, done: CheckDone) -> None:
        """Remember the samples that a check has found damaged."""
        if done.status == "done":
            lines = (line.strip() for line in (done.exclude or "").splitlines())
            self._damaged = frozenset(line for line in lines if line and not line.startswith("#"))

    def ask(self, request: Request, checked: CheckedDocument, params: DatasetRequest) -> None:
        """Answer a request from another thread."""
        self._jobs.put(lambda: request.answer_by(lambda: self.page(checked, params)))

    def page(self, checked: CheckedDocument, request: DatasetRequest) -> Answer:
        """A page of the samples of a reader.

        Raises
        ------
        DocumentError
            If there is no such reader, or it cannot be read yet.
        """
        graph = checked.runnable
        if request.node not in graph.nodes:
            problem = next((each for each in checked.problems if each.node == request.node), None)
            said = sentence(problem.message) if problem else f"There is no node '{request.node}' that can be read."
            raise DocumentError(said, "not_found")
        samples = self._of(graph, request.node)
        found = samples.matching(request)
        count = within(request.count, 0, MOST_IN_PAGE)
        first = within(request.first, 0, max(0, len(found)))
        places = found[first : first + count].tolist()
        buffers: list[bytes] = []
        shown = self._shown(graph, request.node, samples, places, request.thumb, buffers)
        page = DatasetPage(
            samples.size, len(found), first, shown, samples.counts(), samples.looked, samples.looking,
            len(samples.damaged()),
        )  # fmt: skip
        return page, buffers

    def _of(self, graph: Graph, name: str) -> Samples:
        node = graph.nodes[name]
        key = digest(node.op, name, values(node), paths_state(node))
        found = self._samples.get(key)
        if found is None:
            found = self._samples[key] = Samples(node, self._permissions.roots)
            while len(self._samples) > _KEPT:
                self._samples.popitem(last=False)[1].close()
        self._samples.move_to_end(key)
        found.checked = self._damaged
        return found

    def _shown(
        self, graph: Graph, name: str, samples: Samples, places: list[int], thumb: int, buffers: list[bytes]
    ) -> list[DatasetSample]:
        shown = []
        for place in places:
            samples.look_at(place)
            label = None if samples.labels is None else int(samples.labels[place])
            seen = samples.bytes[place] >= 0
            problem = samples.problems.get(place)
            if problem is None and samples.is_damaged(place):
                problem = "The last check found it damaged."
            shown.append(
                DatasetSample(
                    place,
                    samples.names[place],
                    label,
                    None if label is None else samples.label_names.get(label),
                    int(samples.bytes[place]) if seen else None,
                    int(samples.width[place]) or None,
                    int(samples.height[place]) or None,
                    problem,
                )
            )
        if thumb > 0 and places:
            self._draw(graph, name, samples, places, within(thumb, 16, 512), shown, buffers)
            for sample in shown:
                if sample.image is None and sample.problem is None:
                    samples.decode(sample.place)
                    sample.problem = samples.problems.get(sample.place)
        return shown

    def _draw(
        self,
        graph: Graph,
        name: str,
        samples: Samples,
        places: list[int],
        size: int,
        shown: list[DatasetSample],
        buffers: list[bytes],
    ) -> None:
        """Thumbnails of samples, from the reader's first output; samples that fail get their reason."""
        if self._evaluator is None or self._renderer is None:
            self._evaluator = Evaluator(memory=64 << 20, threads=1, roots=self._permissions.roots)
            self._renderer = Renderer(1, memory=32 << 20)
        node = graph.nodes[name]
        count = len(places)
        alone = Graph({name: node}, (), {**graph.pipeline, "batch_size": count})
        pins = Pins(tuple(places), samples.size)
        evaluation = self._evaluator.evaluate(alone, 0, samples=count, pins=pins)
        result = evaluation.results.get(name)
        if result is None:
            return
        for failure in result.failures:
            if failure.sample is None:
                for sample in shown:
                    sample.problem = sample.problem or sentence(str(failure.error))
            elif failure.sample < count:
                shown[failure.sample].problem = sentence(str(failure.error))
        kind = output_kinds(alone)[name][0] if find_operator(node.op).outputs else "any"
        try:
            rendered = self._renderer.rendered(result, 0, evaluation, kind, size, ())
        except DaliLabError:
            return
        if rendered is None:
            return
        for sample, picture in zip(shown, rendered.pictures, strict=False):
            sample.image = picture_ref(picture, buffers)
