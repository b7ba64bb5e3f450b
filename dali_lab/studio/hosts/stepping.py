"""A slider through the batches of a pipeline, for the end of a notebook cell."""

from __future__ import annotations

import html
import importlib
from typing import Any

import ipywidgets

from dali_lab.graph.dali_names import count_outputs
from dali_lab.graph.graph import Edge
from dali_lab.model.errors import DaliLabError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.studio.hosts.showing import KEPT, SHOWN, kind_of, show
from dali_lab.studio.preview.evaluation import Evaluator

_BATCHES = 64


class Preview(ipywidgets.VBox):  # type: ignore[misc]
    """A slider with the pictures of a batch under it.

    Attributes
    ----------
    slider
        Its `value` is the number of the batch, from 1 as in the editor.
    """

    def __init__(self, pipeline: Pipeline, edge: Edge, samples: int, size: int) -> None:
        self._graph = pipeline.graph
        self._seed = pipeline.seed
        self._edge = edge
        self._samples = samples
        self._size = size
        self._evaluator = Evaluator(memory=256 << 20)
        wide = ipywidgets.Layout(width="100%", max_width="480px")
        self.slider = ipywidgets.IntSlider(1, 1, _BATCHES, description="batch", continuous_update=False, layout=wide)
        self._place = ipywidgets.HTML(self.page(1))
        self.slider.observe(self._draw, "value")
        super().__init__([self.slider, self._place])

    def page(self, number: int) -> str:
        """The pictures of a batch as HTML; the sentence that says why, where there are none."""
        edge = self._edge
        evaluation = self._evaluator.evaluate(
            self._graph, self._seed, iteration=number - 1, samples=self._samples, nodes=[edge.node]
        )
        result = evaluation.results.get(edge.node)
        batch = result.outputs[edge.output] if result is not None and edge.output < len(result.outputs) else None
        if batch is not None:
            return show(batch, size=self._size)._repr_html_()
        failed = [item for found in evaluation.results.values() for item in found.failures]
        words = str(failed[0].error) if failed else "There is nothing to show."
        return f'<pre class="{SHOWN}" style="white-space:pre-wrap">{html.escape(words)}</pre>'

    def _draw(self, change: dict[str, Any]) -> None:
        self._place.value = self.page(change["new"])

    def __panel__(self) -> Any:
        """The same as a part of a Panel page, by Panel's own slider."""
        panel: Any = importlib.import_module("panel")
        slider = panel.widgets.IntSlider(
            name="batch", value=self.slider.value, start=1, end=_BATCHES, max_width=480, sizing_mode="stretch_width"
        )
        # While it is dragged, no batch is computed.
        pictures = panel.bind(
            lambda number: panel.pane.HTML(self.page(number), sizing_mode="stretch_width"), slider.param.value_throttled
        )
        return panel.Column(slider, pictures, sizing_mode="stretch_width")

    def _repr_mimebundle_(self, **options: object) -> Any:
        """The widget, and its present pictures for pages without a kernel."""
        data = super()._repr_mimebundle_(**options)
        if data:
            data[KEPT] = {"model_id": self.model_id}
            data["text/html"] = self._place.value
        return data


def preview(pipeline: Pipeline, node: str | None = None, *, samples: int = 8, size: int = 192) -> Preview:
    """Step through a pipeline's batches at one of its nodes, with a slider.

    Parameters
    ----------
    pipeline
        A pipeline; it is not run itself, so its next batch stays the next one.
    node
        Name of a node, or ``"node:1"`` for its second output; by default the first output of the pipeline.
    samples, size
        How many samples, and the longer side of a picture in pixels.

    Returns
    -------
    Preview
        A widget: a slider with pictures under it.

    Raises
    ------
    DaliLabError
        If this is no pipeline, or it has no such node or output.
    """
    if not isinstance(pipeline, Pipeline):
        raise DaliLabError(f"a pipeline is needed, not {kind_of(pipeline)}", argument="pipeline")
    for name, number in (("samples", samples), ("size", size)):
        if number < 1:
            raise DaliLabError(f"at least 1 is needed, not {number}", argument=name)
    graph = pipeline.graph
    if node is None and not graph.outputs:
        raise DaliLabError("the pipeline has no outputs: say which node", argument="node")
    edge = graph.outputs[0] if node is None else Edge.parse(node)
    count = count_outputs(graph, graph[edge.node])
    if edge.output >= count:
        raise DaliLabError(
            f"'{edge.node}' has {count} output{'' if count == 1 else 's'}, numbered from 0", argument="node"
        )
    return Preview(pipeline, edge, samples, size)
