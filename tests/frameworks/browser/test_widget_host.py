"""The widget in a page that gives it anywidget's model and nothing else, as any editor of notebooks does."""

from __future__ import annotations

import base64
import queue
from typing import Any

import dali_lab
from dali_lab import fn
from dali_lab.gallery.samples import photographs
from dali_lab.studio.bundle import BUNDLE
from tests.frameworks.browser.conftest import Tab

HOST = """async (state) => {
  const listeners = new Map();
  let alive = true;
  const of = (event) => listeners.get(event) ?? listeners.set(event, new Set()).get(event);
  const emit = (event, ...given) => [...of(event)].forEach((listener) => listener(...given));
  const model = Object.freeze({
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; emit(`change:${name}`); },
    save_changes: () => undefined,
    on: (event, listener) => { of(event).add(listener); },
    off: (event, listener) => { listener ? of(event).delete(listener) : of(event).clear(); },
    send: (content) => {
      if (!alive) throw new Error('Cannot send');
      void window.toKernel(content);
    },
  });
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const { default: { render } } = await import('/editor.js');
  const el = document.getElementById('cell');
  const stop = render({ model, el });
  // As the layout of ipywidgets does, which comes after the view.
  for (const name of ['width', 'min-width']) el.style.removeProperty(name);
  window.restart = (to) => { emit('comm_live_update'); alive = to; };
  window.end = () => emit('comm:close');
  window.leave = () => { stop(); return [...listeners.values()].reduce((count, each) => count + each.size, 0); };
  const listen = async () => {
    for (const [content, buffers] of await window.fromKernel()) emit('msg:custom', content, buffers.map(bytes));
    setTimeout(listen, 20);
  };
  void listen();
}"""
PAGE = (
    "<!doctype html><title>Host</title><body style='margin:0'>"
    "<div style='display:flex'><div id=cell></div><p id=beside>beside it</p></div>"
)
"""The cell lies in a row, as in `ipywidgets.HBox`."""


@dali_lab.pipeline_def(batch_size=4, num_threads=1, seed=3)
def thumbnails() -> Any:
    encoded, _ = fn.readers.file(file_root=photographs(), name="reader")
    return fn.resize(fn.decoders.image(encoded, name="decode"), size=[64, 64], name="resize")


def test_model_is_all_that_the_widget_needs(browser: Any) -> None:
    pipe = thumbnails()
    editor = dali_lab.edit(pipe, height=500)
    sent: queue.SimpleQueue[Any] = queue.SimpleQueue()
    editor.send = lambda content, buffers=None: sent.put((content, buffers or []))

    def from_kernel() -> list[Any]:
        found = []
        while not sent.empty():
            content, buffers = sent.get()
            found.append([content, [base64.b64encode(each).decode() for each in buffers]])
        return found

    context = browser.new_context(viewport={"width": 1300, "height": 600}, color_scheme="light")
    tab = Tab(context.new_page())
    page = tab.page
    try:
        page.expose_function("toKernel", lambda content: editor._take(editor, content, []))
        page.expose_function("fromKernel", from_kernel)
        page.route("http://page.test/", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
        script = {"path": BUNDLE, "content_type": "text/javascript"}
        page.route("http://page.test/editor.js", lambda route: route.fulfill(**script))
        page.goto("http://page.test/")
        page.evaluate(HOST, {"height": 500, "theme": "auto", "picture": editor.picture})
        tab.ready()
        tab.wait_for_pixels("resize", bool)
        row = page.locator("#cell").bounding_box()["width"], page.locator("#beside").bounding_box()["width"]
        assert row[0] > 1000 and row[1] > 20

        # Both ways: the keyboard changes the pipeline, and what Python sets is on the canvas.
        tab.node("resize").click(position={"x": 12, "y": 8})
        tab.wait(lambda: editor.selection == ["resize"], "the selection is not told")
        page.keyboard.press("Control+d")
        tab.wait(lambda: "resize_2" in pipe.graph.nodes, "the pipeline does not follow")
        editor.selection = ["decode"]
        page.locator('[data-node-id="decode"][data-selected="true"]').wait_for()
        tab.still()

        # It has colours of its own, light and dark.
        panel = page.locator('.dali-lab-editor [role="toolbar"]').first
        colours = "element => [getComputedStyle(element).color, getComputedStyle(element).backgroundColor]"
        seen = lambda: [brightness(colour) for colour in panel.evaluate(colours)]  # noqa: E731
        tab.wait(lambda: (now := seen())[0] < 100 < 200 < now[1], "it is not light")
        page.emulate_media(color_scheme="dark")
        tab.wait(lambda: (now := seen())[1] < 60 < 200 < now[0], "it does not turn dark")

        # Its kernel is restarted or ends: the editor says at once what brings another.
        gone = page.get_by_test_id("status").filter(has_text="Run the cell again")
        for end, again in (("window.restart(false)", "window.restart(true)"), ("window.end()", None)):
            page.evaluate(end)
            gone.wait_for()
            if again:
                page.evaluate(again)
                page.locator('[data-testid="dali-editor"][data-connection="connected"]').wait_for()
        assert page.evaluate("window.leave()") == 0, "a view that is gone listens to nothing"
        assert tab.hosts == {"page.test"}
        assert not [problem for problem in tab.problems if "favicon" not in problem]
    finally:
        context.close()
        editor.close()
        pipe.close()


def brightness(colour: str) -> float:
    """The mean of the first three numbers of a colour as browsers write it."""
    return sum(float(part) for part in colour.split("(")[1].rstrip(")").split(",")[:3]) / 3
