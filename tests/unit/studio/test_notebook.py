"""The editor and the pictures of a notebook, without a notebook: messages as the front end would send them."""

from __future__ import annotations

import base64
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import fn
from dali_lab.errors import DaliLabError
from dali_lab.schema.samples import picture, pictures
from dali_lab.studio import bundle
from dali_lab.studio.hosts import widget as widget_module
from dali_lab.studio.hosts.showing import as_batch, show


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for the built editor, which these tests do not show."""
    path = tmp_path / "editor.js"
    path.write_text("export default { render() {} }")
    monkeypatch.setattr(bundle, "BUNDLE", path)


def make_pipeline() -> dali_lab.Pipeline:
    arrays, layout = pictures()

    @dali_lab.pipeline_def(batch_size=3, num_threads=2, seed=5)
    def pipe() -> Any:
        images = fn.external_source(source=lambda: arrays, layout=layout, name="images")
        return fn.flip(images, horizontal=1, name="flip")

    return pipe()


class Page:
    """The browser's side of a widget, with the messages that it gets and sends."""

    def __init__(self, editor: widget_module.Editor) -> None:
        self.editor = editor
        self.messages: list[tuple[dict, list]] = []
        self.editor.send = lambda content, buffers=None: self.messages.append((content, buffers))  # type: ignore[method-assign]
        self._count = 0

    def call(self, view: str, method: str, **params: Any) -> dict:
        self._count += 1
        identity = f"{view}-{self._count}"
        message = {"kind": "request", "id": identity, "method": method, "params": params}
        self.editor._take(self.editor, message, [])
        return self.wait(lambda content: content.get("id") == identity)["result"]

    def wait(self, wanted: Any) -> dict:
        ends = time.monotonic() + 300
        while time.monotonic() < ends:
            for content, _ in list(self.messages):
                if wanted(content):
                    return content
            time.sleep(0.01)
        raise AssertionError("no such message")


def test_edits_are_in_the_graph_of_the_pipeline(built: None) -> None:
    pipe = make_pipeline()
    editor = dali_lab.edit(pipe)
    try:
        page = Page(editor)
        hello = page.call("view", "hello", protocol=1, client="view")
        assert hello["seed"] == 5
        flip = hello["document"]["nodes"]["flip"]
        page.call("view", "preview", run=1, samples=3, thumb=32)
        event = page.wait(
            lambda content: content.get("event") == "preview.node" and content["params"]["node"] == "flip"
        )
        assert len(event["params"]["outputs"][0]["images"]) == 3, "the Python source of the notebook is run"
        flip = {**flip, "arguments": {"horizontal": 0, "vertical": 1}}
        page.call("view", "edit", base=1, changes={"nodes": {"flip": flip}})
        assert pipe.graph["flip"].arguments["vertical"] == 1
        (flipped,) = pipe.run()
        np.testing.assert_array_equal(flipped.at(0), pictures()[0][0][::-1])
        assert editor.graph["flip"].arguments["vertical"] == 1
        assert editor.pipeline.graph["flip"].arguments["vertical"] == 1
    finally:
        editor.close()
        pipe.close()


def test_graph_selection_and_seed_are_traits(built: None) -> None:
    pipe = make_pipeline()
    editor = dali_lab.edit(pipe)
    try:
        page = Page(editor)
        hello = page.call("view", "hello", protocol=1, client="view")
        assert hello["capabilities"]["select"] is True
        told: list[str] = []
        editor.observe(lambda change: told.append(change.name), ["graph", "selection", "seed"])

        # Edits on the canvas are in the traits.
        page.call("view", "select", nodes=["flip"])
        assert editor.selection == ["flip"]
        page.call("view", "edit", base=1, changes={"pipeline": {"set": {"seed": 6}}})
        assert editor.seed == 6
        flip = {**hello["document"]["nodes"]["flip"], "arguments": {"vertical": 1}}
        page.call("view", "edit", base=2, changes={"nodes": {"flip": flip}})
        assert editor.graph["flip"].arguments["vertical"] == 1
        assert set(told) == {"graph", "selection", "seed"}
        assert told[0] == "selection"

        # Values set to the traits are in the editor, and in the pipeline.
        events = lambda: [content for content, _ in page.messages if content["kind"] == "event"]  # noqa: E731
        before = len(events())
        editor.selection = ["images"]
        editor.seed = 8
        editor.graph = editor.graph.with_node(editor.graph["flip"].replaced(arguments={"horizontal": 0}))
        assert [event["event"] for event in events()[before:] if event["event"] != "problems"] == [
            "selected",
            "changed",
            "state",
            "document",
        ]
        again = page.call("other", "hello", protocol=1, client="other")
        assert again["seed"] == 8
        assert again["document"]["nodes"]["flip"]["arguments"] == {"horizontal": 0}
        assert pipe.graph["flip"].arguments == {"horizontal": 0}
        # A document that was opened takes the selection away.
        page.call("view", "select", nodes=[])
        assert editor.selection == []
    finally:
        editor.close()
        pipe.close()


def test_two_views_of_a_widget_are_two_editors(built: None) -> None:
    editor = dali_lab.edit(make_pipeline())
    try:
        page = Page(editor)
        page.call("one", "hello", protocol=1, client="one")
        page.call("two", "hello", protocol=1, client="two")
        page.call("one", "preview", run=1000, samples=2, thumb=32)
        page.wait(lambda content: content.get("event") == "preview.done" and content["params"]["run"] == 1000)
        page.call("two", "preview", run=2000, samples=2, thumb=32)
        page.wait(lambda content: content.get("event") == "preview.done" and content["params"]["run"] == 2000)
        told = [
            c["params"] for c, _ in page.messages if c.get("event") == "preview.node" and c["params"]["run"] == 2000
        ]
        assert {entry["node"] for entry in told} == {"images", "flip"}
        page.call("one", "edit", base=1, changes={"pipeline": {"set": {"seed": 6}}})
        changed = page.wait(lambda content: content.get("event") == "changed")
        assert changed["params"]["client"] == "one"
    finally:
        editor.close()


def test_unfinished_graph_gives_no_pipeline(built: None) -> None:
    editor = dali_lab.edit()
    try:
        page = Page(editor)
        page.call("view", "edit", base=1, changes={"nodes": {"flip": {"op": "flip"}}})
        with pytest.raises(DaliLabError, match=r"node 'flip': Connect"):
            _ = editor.pipeline
        assert "flip" in editor.graph.nodes
    finally:
        editor.close()


def test_pictures_for_where_no_kernel_runs_show_the_graph(built: None) -> None:
    editor = dali_lab.edit(make_pipeline())
    try:
        page = Page(editor)
        flip = page.call("view", "hello", protocol=1, client="view")["document"]["nodes"]["flip"]
        page.call("view", "edit", base=1, changes={"nodes": {"flip_again": {**flip, "inputs": ["flip"]}}})
        shown = editor._repr_mimebundle_()
        data = shown[0] if isinstance(shown, tuple) else shown
        assert "application/vnd.jupyter.widget-view+json" in data
        assert "flip_again" in data["image/svg+xml"]
        (encoded,) = re.findall(r'<img alt="The graph" src="data:image/svg\+xml;base64,([^"]+)">', data["text/html"])
        assert base64.b64decode(encoded).decode() == data["image/svg+xml"] == editor.picture
        assert data["application/vnd.dali-lab.editor+json"] == {"model_id": editor.model_id}
        assert repr(editor) == f"<Editor of a graph with {len(editor.graph.nodes)} nodes>"  # boxes of widgets show it
        # After an edit the picture follows by itself.
        page.call("view", "edit", base=2, changes={"nodes": {"flip_third": {**flip, "inputs": ["flip"]}}})
        deadline = time.monotonic() + 300
        while "flip_third" not in editor.picture and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "flip_third" in editor.picture
    finally:
        editor.close()


@pytest.mark.usefixtures("built")
def test_the_state_that_notebooks_keep_is_small() -> None:
    # anywidget, too, drops all messages of a widget whose module is not loaded within two seconds.
    editor = dali_lab.edit()
    try:
        page = Page(editor)
        state = editor.get_state()
        assert len(state["_esm"]) < 2000
        assert len(json.dumps(state)) < 5000
        # The page asks for the editor itself by its name, and no state holds it.
        editor._take(editor, {"editor": state["_version"]}, [])
        ((content, buffers),) = page.messages
        assert content == {"editor": state["_version"]}
        assert buffers == [bundle.BUNDLE.read_bytes()]
    finally:
        editor.close()


def test_editor_without_a_bundle_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "BUNDLE", tmp_path / "none.js")
    with pytest.raises(DaliLabError, match="not built"):
        dali_lab.edit()


def test_show_what_a_pipeline_returns() -> None:
    pipe = make_pipeline()
    try:
        shown = dali_lab.show(pipe.run(), labels=[0, 1, 1], names=["cat", "dog"])
    finally:
        pipe.close()
    page = shown._repr_html_()
    assert len(re.findall("<img ", page)) == 3
    assert "dog" in page
    assert "UINT8 HWC" in page
    assert "3 ×" in repr(shown)


def test_show_escapes_text_and_takes_arrays() -> None:
    shown = show(np.stack([picture(20, 30)] * 2), labels=["<script>", "b"])
    assert "<script>" not in shown._repr_html_()
    assert shown._repr_html_().count("width:112px") == 2, "a caption is no wider than its picture, or its least width"
    assert len(show([np.zeros((3, 20, 30), np.float32)]).pictures) == 1
    assert as_batch(np.zeros((2, 3, 20, 30))).layout == "CHW"
    assert len(show(np.zeros((100, 8, 8, 3), np.uint8), limit=5).pictures) == 5
    assert show(np.arange(5)).pictures == [None] * 5


def test_boxes_and_masks_are_drawn() -> None:
    plain = np.zeros((1, 40, 60, 3), np.uint8)
    boxed = show(plain, boxes=[np.array([[0.25, 0.25, 0.75, 0.75]])])
    masked = show(plain, masks=[np.pad(np.ones((10, 10), np.int32), ((5, 25), (5, 45)))])
    assert len({show(plain).pictures[0].data, boxed.pictures[0].data, masked.pictures[0].data}) == 3
    with pytest.raises(DaliLabError, match="2 labels for 1 samples"):
        show(plain, labels=[1, 2])
    with pytest.raises(DaliLabError, match="cannot be shown"):
        show(3)


@pytest.mark.parametrize(
    "given",
    [
        {"boxes": [[[1, 2, 3]]]},
        {"boxes": [[["left"] * 4]]},
        {"masks": [np.zeros((10, 10), np.int32)]},
        {"masks": [np.zeros((40, 60, 2), np.int32)]},
        {"size": 0},
        {"limit": -1},
    ],
)
def test_what_does_not_fit_the_pictures_is_named(given: dict[str, Any]) -> None:
    with pytest.raises(DaliLabError, match=f"argument '{next(iter(given))}'"):
        show([picture(40, 60)], **given)


def test_odd_batches_are_shown_as_what_they_are() -> None:
    far = show([picture(40, 60)], boxes=[[[-1e15, -5, 1e15, 400], [np.nan] * 4, [5, 5, 20, 20]]])
    assert far.pictures[0] is not None
    thought = show([picture(40, 60)], masks=[np.full((40, 60, 1), 0.8)])
    assert thought.pictures[0].data == show([picture(40, 60)], masks=[np.ones((40, 60), bool)]).pictures[0].data
    clip = show([np.stack([picture(20, 30)] * 4)])
    assert "FHWC" in clip.title and clip.pictures[0].width == 60
    tone = np.sin(np.arange(4000, dtype=np.float32) / 20)
    assert all(show([sound]).pictures[0] for sound in (tone, np.stack([tone, tone], axis=1)))
    assert show([]).title.startswith("0 × nothing")
    assert show([1, 2]).captions == ["0 · 1 · scalar", "1 · 2 · scalar"]


def test_preview_steps_through_batches() -> None:
    import ipywidgets

    @dali_lab.pipeline_def(batch_size=3, num_threads=1, seed=5)
    def drawn() -> Any:
        return fn.random.uniform(range=(0, 1), shape=[16, 16], name="noise")

    pipe = drawn()
    try:
        stepped = dali_lab.preview(pipe, node="noise", samples=2)
        assert isinstance(stepped, ipywidgets.Widget)
        slider, place = stepped.children
        assert slider.value == 1, "batches are numbered as in the editor"
        first = place.value
        assert first.count("<img ") == 2
        slider.value = 2
        assert place.value.count("<img ") == 2 and place.value != first
        # Where no kernel runs, the pictures stand in the notebook as they are now.
        shown = stepped._repr_mimebundle_()
        assert shown["text/html"] == place.value
        assert shown["application/vnd.dali-lab.editor+json"] == {"model_id": stepped.model_id}
        assert "application/vnd.jupyter.widget-view+json" in shown
    finally:
        pipe.close()


def test_what_has_no_batches_to_step_through_is_named() -> None:
    pipe = make_pipeline()
    try:
        for node, words in (("flp", "did you mean 'flip'"), ("flip:4", "'flip' has 1 output, numbered from 0")):
            with pytest.raises(DaliLabError, match=words):
                dali_lab.preview(pipe, node=node)
        with pytest.raises(DaliLabError, match="argument 'samples'"):
            dali_lab.preview(pipe, samples=0)
    finally:
        pipe.close()
    with pytest.raises(DaliLabError, match=r"'make_pipeline\(\)' returns"):
        dali_lab.preview(make_pipeline)  # type: ignore[arg-type]


def test_what_is_no_batch_says_what_to_do() -> None:
    pipe = make_pipeline()
    try:
        with pytest.raises(DaliLabError, match=r"show\(pipe\.run\(\)\[0\]\)"):
            show(pipe)
        (images,) = pipe.run()
        with pytest.raises(DaliLabError, match="these are the 2 outputs of a pipeline"):
            show((images, images))
    finally:
        pipe.close()
    with pytest.raises(DaliLabError, match=r"'make_pipeline\(\)' returns"):
        show(make_pipeline)


def test_only_what_has_a_graph_is_edited(built: None) -> None:
    with pytest.raises(DaliLabError, match="not a value of type int"):
        dali_lab.edit(12)  # type: ignore[arg-type]


def test_panel_steps_by_its_own_slider() -> None:
    import panel
    import param

    pipe = make_pipeline()
    try:
        slider, pictures = panel.panel(dali_lab.preview(pipe, samples=2))
        with param.edit_constant(slider):
            slider.value_throttled = 2
        assert pictures._pane.object.count("<img ") == 2
    finally:
        pipe.close()
