"""The kernel of a document: its own or shared, interrupted, restarted, dying, ending, missing."""

from __future__ import annotations

from typing import Any

from tests.frameworks.browser.jupyterlab.document import EDITOR, Document, picture_text, small_text
from tests.frameworks.browser.lab import Lab

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


def test_custom_operator_interrupt_restart_and_a_kernel_that_dies(shown: Document) -> None:
    slow = {"op": "mine.slow", "inputs": ["decode"], "arguments": {"seconds": 0.0}}
    shown.open("slow.dali.json", picture_text(slow=slow), alone=True)
    shown.node("slow").filter(has_text="no operator").wait_for()
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
    shown.page.locator('[role="alert"]:has-text("The graph is kept")').first.wait_for()
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
        shown.wait(lambda: "× 1" in shown.node("decode").inner_text(), "the canvas waits for the cell")
        assert shown.page.evaluate("window.cell") == "runs"
    finally:
        shown.ask("(widget) => widget.context.sessionContext.session.kernel.interrupt()")
        shown.wait(lambda: shown.page.evaluate("window.cell") == "ended", "the cell is not interrupted")
    shown.ask("(widget) => { widget.context.model.dirty = false; widget.close(); }")
    shown.open("beside.dali.json", picture_text(slow=slow))
    shown.find('img[data-node="slow"]').first.wait_for()


def test_a_kernel_that_is_restarted_from_one_document_is_new_to_the_other(shown: Document) -> None:
    session = "(widget) => widget.content.handle.editor.session.get().id"
    shown.open("restarted.dali.json", small_text(), alone=True)
    first = shown.ask(session)
    kernel = shown.ask("(widget) => widget.context.sessionContext.session.kernel.id")
    (shown.lab.folder / "restarts.dali.json").write_text(small_text())
    shown.command("docmanager:open", path="restarts.dali.json", kernel={"id": kernel})
    shown.ready()
    shown.ask("(widget) => widget.context.sessionContext.restartKernel().then(() => null)")
    shown.connected()
    shown.command("docmanager:open", path="restarted.dali.json")
    shown.wait(lambda: shown.ask(session) not in (None, first), "it still asks the kernel that is gone")
    shown.connected()


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
    shown.change_kernel(id=shown.kernel)
    shown.find(f'{EDITOR}[data-connection="connected"]').wait_for()


def test_a_kernel_that_its_owner_shuts_down_is_not_replaced(shown: Document) -> None:
    begin = """() => window.jupyterapp.serviceManager.sessions
      .startNew({ path: 'owner', name: 'owner', type: 'console', kernel: { name: 'python3' } })
      .then(({ kernel }) => kernel.id)"""
    owned = shown.page.evaluate(begin)
    (shown.lab.folder / "owned.dali.json").write_text(small_text())
    shown.command("docmanager:open", path="owned.dali.json", kernel={"id": owned})
    shown.ready()
    started: list[str] = []
    note = lambda request: request.method == "POST" and started.append(request.url)  # noqa: E731
    shown.page.on("request", note)
    shown.ask("(widget, id) => window.jupyterapp.serviceManager.kernels.shutdown(id)", owned)
    shown.bar("kernel").filter(has_text="No kernel is chosen").wait_for()
    # The graph can be edited meanwhile, and goes on in the kernel that the person chooses.
    shown.ask("(widget) => { widget.content.handle.editor.select(['value']); widget.content.execute('duplicate'); }")
    shown.node("value_2").wait_for()
    shown.page.remove_listener("request", note)
    assert not [url for url in started if "/api/sessions" in url], "nobody has asked for another kernel"
    shown.change_kernel(id=shown.kernel)
    shown.connected()
    shown.idle()
    shown.node("value_2").wait_for()


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


def test_kernels_that_cannot_run_a_pipeline_say_so(shown: Document) -> None:
    shown.open("bare.dali.json", small_text(), alone=True)
    shown.change_kernel(name="bare")
    shown.bar("kernel").filter(has_text="pip install dali-lab").wait_for()
    assert shown.node("value").count() == 1, "the graph stays"
    shown.change_kernel(name="python3")
    shown.connected()


def test_no_kernel_is_installed(lab: Lab, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    context.route("**/api/kernelspecs*", lambda route: route.fulfill(json={"default": "python3", "kernelspecs": {}}))
    (lab.folder / "none.dali.json").write_text(small_text())
    tab = lab.open(context, "none.dali.json", workspace="none")
    bar = tab.page.locator('.dali-document-bar[data-bar="kernel"]')
    bar.filter(has_text="No Python kernel is installed").wait_for()
    assert (lab.folder / "none.dali.json").read_text() == small_text()
    context.close()
