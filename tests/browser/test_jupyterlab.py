"""The way through JupyterLab: a file on the canvas, its kernel, its text, its commands, and what goes wrong.

All tests share one page, as a person does: loading JupyterLab takes longer than most of what is looked at here.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dali_lab.gallery.samples import photographs
from dali_lab.studio.documents import written
from dali_lab.studio.starts import first_pipeline
from tests.browser.conftest import IDLE, Tab
from tests.browser.lab import Lab, is_ours, serving

EDITOR = '[data-testid="dali-editor"]'
READY = f'{EDITOR}[data-ready="true"]'
CURRENT = ".lm-DockPanel-widget:not(.lm-mod-hidden)"
DOCUMENT = "window.jupyterapp.shell.currentWidget"
SLOW = """
import time
from dali_lab.schema import Arg, Input, Operator, Output, register
class Slow(Operator):
    'Waits.'
    name = "mine.slow"
    family = "color"
    inputs = (Input("images", kind="image", layouts=None),)
    outputs = (Output("images", kind="image"),)
    arguments = (Arg("seconds", "float", 0.0),)
    def run(self, call, images):
        ends = time.monotonic() + self.value("seconds")
        while time.monotonic() < ends and not call.cancelled():
            time.sleep(0.01)
        return images
register(Slow)
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serving(tmp_path_factory.mktemp("lab")) as found:
        (found.folder / "pictures").symlink_to(photographs(), target_is_directory=True)
        yield found


@pytest.fixture(scope="module")
def page(lab: Lab, browser: Any) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": 1500, "height": 950})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield lab.open(context)
    context.close()


@pytest.fixture(scope="module")
def kernel(page: Tab) -> str:
    """A kernel for all documents that need none of their own; a session beside theirs keeps it."""
    identity: str = page.page.evaluate(
        """() => window.jupyterapp.serviceManager.sessions
          .startNew({ path: 'kernel', name: 'kernel', type: 'console', kernel: { name: 'python3' } })
          .then((session) => session.kernel.id)"""
    )
    return identity


class Document:
    """What is shown in the page's main area."""

    def __init__(self, tab: Tab, lab: Lab, kernel: str) -> None:
        self.tab = tab
        self.page = tab.page
        self.lab = lab
        self.kernel = kernel

    def find(self, selector: str) -> Any:
        return self.page.locator(f"{CURRENT} {selector}")

    def node(self, name: str) -> Any:
        return self.find(f'[data-node-id="{name}"]').first

    def bar(self, name: str) -> Any:
        return self.find(f'.dali-document-bar[data-bar="{name}"]')

    def ask(self, expression: str, argument: Any = None) -> Any:
        """Evaluate a function of the current widget in the page."""
        return self.page.evaluate(f"(given) => Promise.resolve(({expression})({DOCUMENT}, given))", argument)

    def command(self, name: str, **arguments: Any) -> None:
        call = "([name, given]) => Promise.resolve(window.jupyterapp.commands.execute(name, given)).then(() => null)"
        self.page.evaluate(call, [name, arguments])

    def open(self, name: str, text: str | None = None, *, ready: bool = True, alone: bool = False) -> Document:
        """Open a file, in the kernel that documents share or `alone` in the one that JupyterLab starts for it."""
        if text is not None:
            (self.lab.folder / name).write_text(text)
        self.command("docmanager:open", path=name, **({} if alone else {"kernel": {"id": self.kernel}}))
        if ready:
            self.ready()
        return self

    def ready(self) -> None:
        # A kernel may have to start, and compile what it has never used.
        self.find(READY).first.wait_for(timeout=120_000)
        self.idle()

    def idle(self) -> None:
        self.find(f"{EDITOR}{IDLE}").first.wait_for(timeout=60_000)

    def dirty(self) -> bool:
        return bool(self.ask("(widget) => widget.context.model.dirty"))

    def text(self, name: str) -> str:
        return (self.lab.folder / name).read_text()

    def run(self, code: str, *, wait: bool = True) -> None:
        """Run code in the document's kernel, as a notebook on the same kernel would."""
        done = ".done.then(() => null)" if wait else ""
        kernel = "widget.context.sessionContext.session.kernel"
        body = f"{kernel}.requestExecute({{ code }}){done}"
        self.ask(f"(widget, code) => {body}" if wait else f"(widget, code) => void {body}", code)

    def set_argument(self, node: str, name: str, value: Any) -> None:
        self.ask(
            """(widget, [node, name, value]) => {
              const { handle } = widget.content, graph = handle.getDocument(), old = graph.nodes[node];
              const nodes = { ...graph.nodes, [node]: { ...old, arguments: { ...old.arguments, [name]: value } } };
              handle.setDocument({ ...graph, nodes });
            }""",
            [node, name, value],
        )

    def menu(self, *labels: str) -> None:
        self.page.locator(f'.lm-MenuBar-itemLabel:text-is("{labels[0]}")').click()
        for label in labels[1:]:
            self.page.locator(f'.lm-Menu-itemLabel:text-is("{label}")').last.click()

    def wait(self, wanted: Callable[[], Any], what: str) -> Any:
        return self.tab.wait(wanted, what)


@pytest.fixture
def shown(page: Tab, lab: Lab, kernel: str) -> Iterator[Document]:
    """The page with nothing open; in the end nothing may have gone wrong in it, and no other host was asked."""
    page.problems.clear()
    yield Document(page, lab, kernel)
    page.page.unroute_all()
    page.page.evaluate(
        """async (kernel) => {
          for (const widget of [...window.jupyterapp.shell.widgets('main')]) {
            const { context } = widget, own = context?.sessionContext;
            if (context) context.model.dirty = false;
            // A session that is being started when it is ended takes its kernel along, also one that others share.
            await own?.initialize().catch(() => null);
            if (own?.session?.kernel?.id !== kernel) await own?.shutdown().catch(() => null);
            widget.dispose();
          }
        }""",
        kernel,
    )
    assert not [problem for problem in page.problems if is_ours(problem)]
    assert page.hosts <= {"127.0.0.1"}


def small_text(**nodes: Any) -> str:
    value = {"op": "random.uniform", "device": "cpu", "inputs": [], "arguments": {}, "connections": {}}
    document = {
        "format": "dali-lab/graph",
        "version": 1,
        "pipeline": {"batch_size": 4, "num_threads": 1, "device_id": None, "seed": 7, "prefetch_queue_depth": 2},
        "nodes": {"value": value, **nodes},
        "outputs": ["value"],
        "view": {"nodes": {"value": {"x": 0, "y": 0}}, "notes": [], "groups": []},
    }
    return written(document)


def picture_text(**more: Any) -> str:
    nodes = {
        "reader": {"op": "readers.file", "arguments": {"file_root": "pictures"}},
        "decode": {"op": "decoders.image", "inputs": ["reader"]},
        **more,
    }
    return json.dumps({"nodes": nodes, "outputs": ["decode"], "pipeline": {"batch_size": 4, "seed": 7}}, indent=1)


def test_file_opens_on_the_canvas_with_pictures_and_is_saved(shown: Document) -> None:
    text = written(first_pipeline(photographs()))
    shown.open("cats.dali.json", text, ready=False, alone=True)
    # A kernel that meets these operators for the first time compiles them.
    shown.find('img[data-node="normalize"]').first.wait_for(timeout=120_000)
    shown.idle()
    assert not shown.dirty(), "to open a file is no change"
    assert shown.text("cats.dali.json") == text
    for name in ("run", "stop", "step", "undo", "fit", "export", "seed", "kernelName", "kernelStatus"):
        assert shown.find(f'.jp-Toolbar [data-jp-item-name="{name}"]').count() == 1, name

    # A change marks the file; undo takes it back; Ctrl+S writes it, and nothing but the line of what changed.
    seed = shown.page.get_by_label("Seed")
    seed.fill("7")
    seed.press("Enter")
    shown.wait(shown.dirty, "the file is not marked")
    shown.find('[data-jp-item-name="undo"] >> visible=true').first.click()
    shown.wait(lambda: seed.input_value() == "42", "undo did not bring the seed back")
    seed.fill("9")
    seed.press("Enter")
    shown.find(".react-flow__pane").first.click(position={"x": 20, "y": 20})
    shown.page.keyboard.press("Control+s")
    shown.wait(lambda: not shown.dirty(), "the file is still marked")
    before, after = text.splitlines(), shown.text("cats.dali.json").splitlines()
    assert [line for line in before if line not in after] == [line for line in before if '"seed": 42' in line]

    # The next batch shows other pictures; the program goes to the clipboard.
    source = shown.find('img[data-node="decode"]').first
    first = source.get_attribute("src")
    shown.find('[data-jp-item-name="step"] >> visible=true').first.click()
    shown.wait(lambda: source.get_attribute("src") != first, "the next batch shows the same pictures")
    shown.command("dali-lab:copy-python")
    copied = shown.wait(lambda: shown.page.evaluate("navigator.clipboard.readText()"), "nothing was copied")
    assert "pipeline_def" in copied and "brightness_contrast" in copied


def test_custom_operator_interrupt_restart_and_a_kernel_that_dies(shown: Document) -> None:
    slow = {"op": "mine.slow", "inputs": ["decode"], "arguments": {"seconds": 0.0}}
    shown.open("slow.dali.json", picture_text(slow=slow), alone=True)
    assert "no operator" in shown.node("slow").inner_text()
    shown.run(SLOW)
    shown.find('[data-testid="palette-entry"][data-op="mine.slow"]').wait_for()
    shown.find('img[data-node="slow"]').first.wait_for()

    shown.set_argument("slow", "seconds", 600)
    shown.find(f'{EDITOR}[data-preview="running"]').wait_for()
    shown.menu("Kernel", "Interrupt Kernel")
    shown.idle()  # in far less time than the operator would take

    shown.set_argument("slow", "seconds", 0)
    shown.menu("Kernel", "Restart Kernel…")
    shown.page.locator(".jp-Dialog .jp-mod-accept").click()
    shown.wait(lambda: "no operator" in shown.node("slow").inner_text(), "the new kernel knows an old operator")
    shown.wait(lambda: shown.node("decode").get_attribute("data-state") == "ok", "the other nodes have pictures again")

    shown.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", wait=False)
    shown.page.locator('[role="alert"]:has-text("The graph is kept")').first.wait_for(timeout=60_000)
    assert shown.node("slow").count() == 1
    shown.find(f'{EDITOR}[data-connection="connected"]').wait_for()
    shown.wait(lambda: shown.node("decode").get_attribute("data-state") == "ok", "the other nodes have no pictures")


def test_kernel_of_a_notebook_is_shared_and_left_running(shown: Document) -> None:
    slow = {"op": "mine.slow", "inputs": ["decode"], "arguments": {"seconds": 0.0}}
    shown.open("shared.dali.json", picture_text(slow=slow))
    shown.run(SLOW)
    shown.find('[data-testid="palette-entry"][data-op="mine.slow"]').wait_for()
    shown.find('img[data-node="slow"]').first.wait_for()
    # Pictures come while a cell runs.
    shown.ask(
        """(widget) => {
          const { kernel } = widget.context.sessionContext.session;
          window.cell = 'runs';
          kernel.requestExecute({ code: 'import time; time.sleep(300)' }).done
            .catch(() => null).then(() => { window.cell = 'ended'; });
        }"""
    )
    try:
        shown.set_argument("decode", "output_type", "GRAY")
        shown.wait(lambda: "×1" in shown.node("decode").inner_text(), "the canvas waits for the cell")
        assert shown.page.evaluate("window.cell") == "runs"
    finally:
        shown.ask("(widget) => widget.context.sessionContext.session.kernel.interrupt()")
        shown.wait(lambda: shown.page.evaluate("window.cell") == "ended", "the cell is not interrupted")
    shown.ask("(widget) => { widget.context.model.dirty = false; widget.close(); }")
    shown.open("beside.dali.json", picture_text(slow=slow))
    shown.find('img[data-node="slow"]').first.wait_for()


def test_a_session_that_ends_is_no_lost_server(shown: Document) -> None:
    session = "widget.context.sessionContext.session"
    shown.open("ended.dali.json", small_text(), alone=True)
    # As from the list of what is running, or by another program.
    shown.ask(f"(widget) => window.jupyterapp.serviceManager.sessions.shutdown({session}.id)")
    shown.bar("kernel").filter(has_text="No kernel is chosen").wait_for()
    shown.page.evaluate("new Promise((done) => setTimeout(done))")
    assert "No kernel is chosen" in shown.bar("kernel").inner_text()
    started: list[str] = []
    note = lambda request: request.method == "POST" and started.append(request.url)  # noqa: E731
    shown.page.on("request", note)
    shown.ask("(widget) => widget.context.sessionContext.shutdown()")
    shown.page.evaluate("new Promise((done) => setTimeout(done))")
    shown.page.remove_listener("request", note)
    assert not [url for url in started if "/api/sessions" in url], "nobody has asked for another kernel"
    shown.ask("(widget) => widget.context.sessionContext.changeKernel({ name: 'python3' }).then(() => null)")
    shown.find(f'{EDITOR}[data-connection="connected"]').wait_for()


def test_a_document_closed_at_once_leaves_the_shared_kernel(shown: Document) -> None:
    arrived: list[Any] = []

    def late(route: Any) -> None:
        if route.request.method == "POST" and not arrived:
            arrived.append(route)
        else:
            route.continue_()

    shown.page.route("**/api/sessions*", late)
    shown.open("hasty.dali.json", small_text(), ready=False)
    shown.wait(lambda: arrived, "no session is started")
    shown.ask("(widget) => { widget.context.model.dirty = false; widget.close(); }")
    with shown.page.expect_response("**/api/sessions*"):
        arrived[0].continue_()
    shown.open("patient.dali.json", small_text())
    assert shown.ask("(widget) => widget.context.sessionContext.session.kernel.id") == shown.kernel


def test_the_last_of_the_documents_that_share_a_kernel_ends_it(shown: Document) -> None:
    running = "() => window.jupyterapp.serviceManager.kernels.refreshRunning().then(() => [...window.jupyterapp.serviceManager.kernels.running()].map(({ id }) => id))"  # noqa: E501
    shown.open("first.dali.json", small_text(), alone=True)
    own = shown.ask("(widget) => widget.context.sessionContext.session.kernel.id")
    assert own != shown.kernel
    (shown.lab.folder / "second.dali.json").write_text(small_text())
    shown.command("docmanager:open", path="second.dali.json", kernel={"id": own})
    shown.ready()
    assert shown.ask("(widget) => widget.context.sessionContext.session.kernel.id") == own
    for name, left in (("second", True), ("first", False)):
        shown.command("docmanager:open", path=f"{name}.dali.json")
        shown.wait(lambda: shown.ask("(widget) => widget.context.path") == f"{name}.dali.json", "not in front")  # noqa: B023
        shown.ask("(widget) => { widget.context.model.dirty = false; widget.close(); }")
        if left:
            shown.wait(lambda: shown.ask("(widget) => widget.context.path") == "first.dali.json", "not closed")
            assert own in shown.page.evaluate(running)
        else:
            shown.wait(lambda: own not in shown.page.evaluate(running), "the kernel is still there")
    assert shown.kernel in shown.page.evaluate(running)


def test_answers_that_are_lost_are_asked_for_again(lab: Lab, browser: Any) -> None:
    # A kernel that is busy while somebody connects says things before that one listens.
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    lost: list[bytes] = []

    def lossy(socket: Any) -> None:
        server = socket.connect_to_server()

        def arrived(message: str | bytes) -> None:
            data = message.encode() if isinstance(message, str) else message
            if len(lost) < 3 and b'"execution_state": "idle"' in data:
                lost.append(data)
            else:
                socket.send(message)

        server.on_message(arrived)

    context.route_web_socket("**/api/kernels/*/channels*", lossy)
    (lab.folder / "lossy.dali.json").write_text(small_text())
    tab = lab.open(context, "lossy.dali.json", workspace="lossy")
    tab.page.locator(READY).wait_for()
    assert len(lost) == 3
    context.close()


START = """(widget, code) => window.jupyterapp.serviceManager.sessions
  .startNew({ path: code, name: code, type: 'console', kernel: { name: 'python3' } })
  .then(({ kernel }) => kernel.info.then(() => {
    const future = kernel.requestExecute({ code });
    return new Promise((begun) => {
      future.onIOPub = ({ header }) => header.msg_type === 'execute_input' && begun(kernel.id);
    });
  }))"""
"""A new kernel, in which a cell is running."""
END = "(widget, id) => window.jupyterapp.serviceManager.kernels.shutdown(id)"


def importing(shown: Document, until: str) -> str:
    """A new kernel that imports a module until a file is there: no other thread had better begin to import then."""
    module = f"waits_for_{until}"
    text = f"import os, time\nwhile not os.path.exists({until!r}): time.sleep(0.01)"
    (shown.lab.folder / f"{module}.py").write_text(text)
    folder = json.dumps(str(shown.lab.folder))
    code = f"import os, sys\nos.chdir({folder})\nsys.path.insert(0, {folder})\nimport {module}"
    kernel: str = shown.ask(START, code)
    return kernel


def test_a_document_opens_while_a_cell_runs_in_its_kernel(shown: Document) -> None:
    busy = shown.ask(START, "import time\nwhile True: time.sleep(0.01)")
    (shown.lab.folder / "during.dali.json").write_text(small_text())
    shown.command("docmanager:open", path="during.dali.json", kernel={"id": busy})
    shown.ready()
    assert shown.ask("(widget) => widget.context.sessionContext.session.kernel.id") == busy
    assert not shown.bar("kernel").is_visible()
    shown.ask(END, busy)


def test_a_document_that_has_to_wait_for_a_cell_says_so(shown: Document) -> None:
    busy = importing(shown, "go")
    (shown.lab.folder / "waits.dali.json").write_text(small_text())
    shown.command("docmanager:open", path="waits.dali.json", kernel={"id": busy})
    shown.bar("kernel").filter(has_text="A cell is running in this kernel").wait_for()
    assert shown.bar("kernel").get_by_role("button").all_inner_texts() == ["Interrupt kernel", "Choose kernel…"]
    (shown.lab.folder / "go").touch()
    shown.ready()
    assert not shown.bar("kernel").is_visible()
    shown.ask(END, busy)


def test_a_kernel_that_the_list_of_sessions_did_not_have_yet_is_taken_again(shown: Document) -> None:
    busy = importing(shown, "end")
    (shown.lab.folder / "kept.dali.json").write_text(small_text())
    shown.command("docmanager:open", path="kept.dali.json", kernel={"id": busy})
    shown.bar("kernel").filter(has_text="A cell is running in this kernel").wait_for()
    first = shown.ask("(widget) => widget.context.sessionContext.session.id")

    def older(route: Any) -> None:
        found = route.fetch()
        route.fulfill(response=found, json=[each for each in found.json() if each["id"] != first])

    shown.page.route("**/api/sessions?*", older)
    shown.ask("() => window.jupyterapp.serviceManager.sessions.refreshRunning()")
    shown.page.unroute("**/api/sessions?*")
    (shown.lab.folder / "end").touch()
    shown.ready()
    assert shown.ask("(widget) => widget.context.sessionContext.session.kernel.id") == busy
    shown.ask(END, busy)


def test_a_document_opened_while_its_kernel_is_ending_gets_another(shown: Document) -> None:
    shown.open("again.dali.json", small_text(), alone=True)
    first = shown.ask("(widget) => widget.context.sessionContext.session.kernel.id")
    ending: list[Any] = []

    def late(route: Any) -> None:
        if route.request.method == "DELETE" and not ending:
            ending.append(route)
        else:
            route.continue_()

    shown.page.route("**/api/sessions/*", late)
    shown.ask("(widget) => widget.close()")
    shown.wait(lambda: ending, "the session is not ended")
    shown.open("again.dali.json", ready=False, alone=True)
    kernel = "(widget) => widget.context?.sessionContext?.session?.kernel?.id ?? null"
    shown.wait(lambda: shown.ask(kernel) == first, "the session that is ending was not found")
    ending[0].continue_()
    shown.wait(lambda: shown.ask(kernel) not in (None, first), "no other kernel was started")
    shown.ready()


def test_side_panels_give_way_beside_the_text(shown: Document) -> None:
    shown.open("narrow.dali.json", small_text())
    palette, inspector = shown.find('[data-testid="palette"]'), shown.find('[data-testid="inspector"]')
    assert palette.count() == 1 and inspector.count() == 1
    shown.command("dali-lab:open-text")
    palette.wait_for(state="detached")
    shown.wait(lambda: shown.find(".react-flow").first.bounding_box()["width"] > 300, "there is no room for the canvas")
    # What is asked for in spite of that is shown; with the room the others come back.
    shown.node("value").click(position={"x": 40, "y": 8})
    shown.page.keyboard.press("Enter")
    inspector.wait_for()
    shown.page.evaluate(
        """() => [...window.jupyterapp.shell.widgets('main')]
          .find(({ node }) => node.querySelector('.jp-FileEditor')).dispose()"""
    )
    palette.wait_for()


def test_kernels_that_cannot_run_a_pipeline_say_so(shown: Document) -> None:
    shown.open("bare.dali.json", small_text(), alone=True)
    change = "(widget, name) => widget.context.sessionContext.changeKernel({ name }).then(() => null)"
    shown.ask(change, "bare")
    shown.bar("kernel").filter(has_text="pip install dali-lab").wait_for()
    assert shown.node("value").count() == 1, "the graph stays"
    shown.ask(change, "python3")
    shown.find(f'{EDITOR}[data-connection="connected"]').wait_for()
    assert not shown.bar("kernel").is_visible()


def test_no_kernel_is_installed(lab: Lab, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    context.route("**/api/kernelspecs*", lambda route: route.fulfill(json={"default": "python3", "kernelspecs": {}}))
    (lab.folder / "none.dali.json").write_text(small_text())
    tab = lab.open(context, "none.dali.json", workspace="none")
    bar = tab.page.locator('.dali-document-bar[data-bar="kernel"]')
    bar.filter(has_text="No Python kernel is installed").wait_for()
    assert (lab.folder / "none.dali.json").read_text() == small_text()
    context.close()


def test_text_that_is_no_graph_says_so_in_place(shown: Document) -> None:
    shown.open("broken.dali.json", '{"nodes": ', ready=False)
    bar = shown.bar("text")
    bar.filter(has_text="not JSON").wait_for()
    assert shown.text("broken.dali.json") == '{"nodes": '
    bar.get_by_role("button", name="Open as text").click()
    # The text is mended beside it: the canvas appears.
    shown.page.locator(".jp-FileEditor .cm-content").fill(small_text())
    shown.page.locator(READY).wait_for()
    shown.page.locator('[data-node-id="value"]').first.wait_for()


def test_newer_version_is_left_alone(shown: Document) -> None:
    text = small_text().replace('"version": 1', '"version": 99')
    shown.open("newer.dali.json", text, ready=False)
    shown.bar("text").filter(has_text="newer version").wait_for()
    assert shown.text("newer.dali.json") == text


def test_file_changed_by_another_program(shown: Document) -> None:
    shown.open("other.dali.json", small_text())
    other = shown.lab.folder / "other.dali.json"
    other.write_text(small_text().replace('"value"', '"renamed"'))
    # The server tells files apart by the second.
    os.utime(other, (time.time() + 5, time.time() + 5))
    seed = shown.page.get_by_label("Seed")
    seed.fill("5")
    seed.press("Enter")
    shown.wait(shown.dirty, "the file is not marked")
    shown.page.evaluate("void window.jupyterapp.commands.execute('docmanager:save')")
    shown.page.locator('.jp-Dialog button:has-text("Revert")').click()
    shown.wait(lambda: shown.node("renamed").count() == 1, "the new text is not on the canvas")
    assert seed.input_value() == "7"
    shown.wait(lambda: not shown.dirty(), "what was read is marked as changed")


def test_text_and_canvas_edited_at_once_keep_both(shown: Document) -> None:
    shown.open("both.dali.json", small_text())
    edit = """(widget) => {
      const { handle } = widget.content, graph = handle.getDocument(), { model } = widget.context;
      handle.setDocument({ ...graph, pipeline: { ...graph.pipeline, seed: 11 } });
      model.fromString(model.toString().replace('"op": "random.uniform"', '"op": "random.normal"'));
    }"""
    shown.ask(edit)
    done = """(widget) => {
      const text = widget.context.model.toString(), graph = widget.content.handle.getDocument();
      return text.includes('random.normal') && text.includes('"seed": 11')
        && graph.pipeline.seed === 11 && graph.nodes.value.op === 'random.normal';
    }"""
    shown.wait(lambda: shown.ask(done), "one of two edits was lost")


def test_rename_autosave_save_as_and_read_only(shown: Document) -> None:
    shown.open("before.dali.json", small_text())
    rename = "([from, to]) => window.jupyterapp.serviceManager.contents.rename(from, to).then(() => null)"
    shown.page.evaluate(rename, ["before.dali.json", "after.dali.json"])
    title = "(widget) => widget.content.handle?.editor.info.get().title"
    shown.wait(lambda: shown.ask(title) == "after", "the new name did not arrive")

    # Autosave writes what was changed, without a word.
    seed = shown.page.get_by_label("Seed")
    seed.fill("12")
    seed.press("Enter")
    shown.wait(shown.dirty, "the file is not marked")
    shown.command("docmanager:toggle-autosave")
    shown.wait(lambda: '"seed": 12' in shown.text("after.dali.json"), "it was not saved by itself")
    shown.command("docmanager:toggle-autosave")

    shown.find(".react-flow__pane").first.click(position={"x": 20, "y": 20})
    shown.page.keyboard.press("Control+Shift+s")
    shown.page.locator(".jp-Dialog input").fill("third.dali.json")
    shown.page.locator(".jp-Dialog .jp-mod-accept").click()
    shown.wait(lambda: (shown.lab.folder / "third.dali.json").exists(), "it was not saved under the new name")
    shown.ready()
    assert json.loads(shown.text("third.dali.json"))["pipeline"]["seed"] == 12

    def fixed(route: Any) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "writable": False})

    shown.page.route("**/api/contents/fixed.dali.json*", fixed)
    shown.open("fixed.dali.json", small_text())
    assert shown.page.get_by_label("Seed").last.is_disabled()
    shown.node("value").click(position={"x": 40, "y": 8})
    shown.page.keyboard.press("Delete")
    shown.page.locator('[role="alert"]:has-text("read-only")').first.wait_for()
    assert shown.node("value").count() == 1 and not shown.dirty()


def test_launcher_new_graph_and_a_folder_that_makes_a_reader(shown: Document) -> None:
    shown.command("launcher:create")
    shown.page.locator(".jp-LauncherCard:visible", has_text="DALI Pipeline").first.click()
    shown.ready()
    shown.find('[data-testid="empty-canvas"]').wait_for()
    name = shown.ask("(widget) => widget.context.path")
    shown.page.locator('.jp-DirListing-item:has-text("pictures")').first.wait_for()
    folder = shown.page.locator('.jp-DirListing-item:has-text("pictures")').first.bounding_box()
    canvas = shown.find(".dali-document-canvas").bounding_box()
    shown.page.mouse.move(folder["x"] + 60, folder["y"] + folder["height"] / 2)
    shown.page.mouse.down()
    shown.page.mouse.move(canvas["x"] + 300, canvas["y"] + 200, steps=8)
    shown.page.mouse.move(canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2, steps=5)
    shown.page.mouse.up()
    shown.wait(lambda: shown.node("reader").count() == 1, "there is no reader")
    shown.find('img[data-node="reader"]').first.wait_for()
    shown.wait(shown.dirty, "the new file is not marked")
    shown.command("docmanager:save")
    assert json.loads(shown.text(name))["nodes"]["reader"]["arguments"]["file_root"] == "pictures"

    # "New graph" in the editor is a new file: what is on this canvas stays.
    shown.ask("(widget) => void widget.content.handle.execCommand('new')")
    shown.wait(lambda: shown.ask("(widget) => widget.context?.path") not in (None, name), "no new file was opened")
    shown.ready()
    assert json.loads(shown.text(name))["nodes"]["reader"]


def test_menus_settings_themes_and_the_notebook(shown: Document) -> None:
    settings = f"{shown.lab.address}/lab/api/settings/dali-lab:plugin"
    body = json.dumps({"raw": json.dumps({"palette": False, "samples": 2})})
    sent = shown.page.evaluate(
        """async ([url, body]) => {
          const token = document.cookie.match(/_xsrf=([^;]*)/)?.[1] ?? '';
          return (await fetch(url, { method: 'PUT', body, headers: { 'X-XSRFToken': token } })).status;
        }""",
        [settings, body],
    )
    assert sent == 204
    shown.page.reload()
    shown.page.wait_for_selector("#jp-MainLogo")
    shown.open("note.dali.json", picture_text())
    assert shown.find('[data-testid="palette"]').count() == 0, "the settings say that it is hidden"
    assert shown.find('img[data-node="decode"]').count() == 2
    shown.menu("Pipeline", "Palette")
    shown.find('[data-testid="palette"]').wait_for()

    # What is changed in the settings is done in documents that are open, too.
    shown.command("settingeditor:open", query="DALI pipelines")
    samples = shown.page.locator('input[id$="dali-lab:plugin_samples"]')
    samples.fill("3")
    samples.blur()
    shown.command("docmanager:open", path="note.dali.json")
    shown.wait(lambda: shown.find('img[data-node="decode"]').count() == 3, "the settings have no effect")

    shown.command("apputils:change-theme", theme="JupyterLab Dark")
    shown.find(f'{EDITOR}[data-theme="dark"]').wait_for()
    shown.command("apputils:change-theme", theme="JupyterLab Light")
    shown.find(f'{EDITOR}[data-theme="light"]').wait_for()

    # The menu of a file in the browser has both; the layout comes back after a reload.
    item = shown.page.locator('.jp-DirListing-item:has-text("note.dali.json")').first
    item.click(button="right")
    labels = shown.page.locator(".lm-Menu .lm-Menu-itemLabel").all_inner_texts()
    assert {"Open in Notebook", "Copy as Python"} <= set(labels)
    shown.page.keyboard.press("Escape")
    saved = lambda: [file.read_text() for file in (shown.lab.place / "workspaces").glob("*")]  # noqa: E731
    shown.wait(lambda: any("note.dali.json" in text for text in saved()), "the workspace was not saved")
    shown.page.goto(f"{shown.lab.address}/lab/workspaces/tests")
    shown.page.wait_for_selector("#jp-MainLogo")
    shown.ready()
    assert shown.ask("(widget) => widget.context.path") == "note.dali.json"

    item.click(button="right")
    shown.page.locator('.lm-Menu-itemLabel:text-is("Open in Notebook")').click()
    cell = shown.page.locator(".jp-Notebook .jp-CodeCell .cm-content").first
    shown.wait(lambda: cell.count() and "dali_lab.edit" in cell.inner_text(), "no cell loads the graph")
    assert '"note.dali.json"' in cell.inner_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to everything")
def test_file_without_permission_is_read_only(shown: Document) -> None:
    (shown.lab.folder / "locked.dali.json").write_text(small_text())
    (shown.lab.folder / "locked.dali.json").chmod(0o444)
    shown.open("locked.dali.json")
    assert shown.page.get_by_label("Seed").last.is_disabled()


def test_server_goes_away_and_returns(shown: Document) -> None:
    # The last one: the kernel that documents share goes with the server.
    shown.open("away.dali.json", picture_text(), alone=True)
    shown.lab.stop()
    shown.bar("kernel").filter(has_text="server cannot be reached").wait_for()
    shown.page.locator(".jp-Dialog button").last.click()
    shown.set_argument("decode", "output_type", "GRAY")
    shown.lab.start()
    shown.find(f'{EDITOR}[data-connection="connected"]').wait_for(timeout=90_000)
    shown.idle()
    shown.wait(lambda: "×1" in shown.node("decode").inner_text(), "what was changed meanwhile is not shown")
    # The browser itself speaks of each request that found no server.
    shown.tab.problems[:] = [each for each in shown.tab.problems if "ERR_CONNECTION_REFUSED" not in each]
