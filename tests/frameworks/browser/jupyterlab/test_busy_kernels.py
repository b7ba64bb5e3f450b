"""Documents that are opened while their kernel is busy, and answers that get lost on the way."""

from __future__ import annotations

import json
from typing import Any

from tests.frameworks.browser.conftest import PATIENCE
from tests.frameworks.browser.jupyterlab.document import READY, Document, small_text
from tests.frameworks.browser.lab import Lab

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
    shown.connected()
    shown.ask(END, busy)


def test_a_document_that_has_to_wait_for_a_cell_says_so(shown: Document) -> None:
    busy = importing(shown, "go")
    (shown.lab.folder / "waits.dali.json").write_text(small_text())
    shown.command("docmanager:open", path="waits.dali.json", kernel={"id": busy})
    shown.bar("kernel").filter(has_text="A cell is running in this kernel").wait_for()
    buttons = shown.bar("kernel").get_by_role("button")
    shown.wait(lambda: buttons.all_inner_texts() == ["Interrupt kernel", "Choose kernel…"], "nothing can be done")
    (shown.lab.folder / "go").touch()
    shown.ready()
    shown.connected()
    shown.ask(END, busy)


def test_a_kernel_that_the_list_of_sessions_did_not_have_yet_is_taken_again(shown: Document) -> None:
    busy = importing(shown, "end")
    (shown.lab.folder / "kept.dali.json").write_text(small_text())
    shown.command("docmanager:open", path="kept.dali.json", kernel={"id": busy})
    shown.bar("kernel").filter(has_text="A cell is running in this kernel").wait_for()
    first = shown.ask("(widget) => widget.context.sessionContext.session.id")

    def older(route: Any) -> None:
        found = route.fetch(timeout=1000 * PATIENCE)
        route.fulfill(response=found, json=[each for each in found.json() if each["id"] != first])

    shown.page.route("**/api/sessions?*", older)
    shown.ask("() => window.jupyterapp.serviceManager.sessions.refreshRunning()")
    shown.page.unroute("**/api/sessions?*")
    (shown.lab.folder / "end").touch()
    shown.ready()
    assert shown.ask("(widget) => widget.context.sessionContext.session.kernel.id") == busy
    shown.ask(END, busy)


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
    tab.wait(lambda: len(lost) == 3, "not enough got lost")
    context.close()
