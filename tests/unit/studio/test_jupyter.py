"""The kernel's side of the JupyterLab document, over a comm without a kernel."""

from __future__ import annotations

import queue
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dali_lab.studio.document.graph_document import empty_document
from dali_lab.studio.hosts import jupyter
from tests.programs import LIMIT, run_python

Json = dict[str, Any]


class Comm:
    """A kernel's comm whose other end is in the test."""

    def __init__(self) -> None:
        self.sent: queue.Queue[tuple[Json, list[bytes]]] = queue.Queue()
        self.take: Callable[[Json], None] = lambda _: None
        self.end: Callable[[Json], None] = lambda _: None

    def send(self, data: Json, buffers: list[bytes]) -> None:
        self.sent.put((data, buffers))

    def on_msg(self, take: Callable[[Json], None]) -> None:
        self.take = take

    def on_close(self, end: Callable[[Json], None]) -> None:
        self.end = end

    def call(self, method: str, **params: Any) -> Json:
        self.take({"content": {"data": {"kind": "request", "id": "editor-1", "method": method, "params": params}}})
        while True:
            message, _ = self.sent.get(timeout=LIMIT)
            if message["kind"] == "response":
                return message


@pytest.fixture
def opened() -> Iterator[Callable[..., tuple[Comm, jupyter.Connection]]]:
    made: list[jupyter.Connection] = []

    def open_comm(**data: Any) -> tuple[Comm, jupyter.Connection]:
        comm = Comm()
        connection = jupyter.Connection(comm, data)
        made.append(connection)
        return comm, connection

    yield open_comm
    for connection in made:
        connection.close()


def document() -> Json:
    return {**empty_document(), "nodes": {"x": {"op": "random.uniform", "device": "cpu"}}, "outputs": ["x"]}


def test_document_of_the_editor_is_the_document_of_the_session(opened: Any) -> None:
    comm, _ = opened(document=document(), title="cats")
    hello = comm.call("hello", protocol=1, client="c")["result"]
    assert list(hello["document"]["nodes"]) == ["x"]
    assert hello["title"] == "cats"
    assert hello["dirty"] is False
    assert hello["read_only"] is False


def test_read_only_file_refuses_edits(opened: Any) -> None:
    comm, _ = opened(document=document(), read_only=True)
    assert comm.call("hello", protocol=1, client="c")["result"]["read_only"] is True
    error = comm.call("edit", base=1, changes={"nodes": {"x": None}})["error"]
    assert error["code"] == "read_only"


def test_document_that_cannot_be_read_is_told_of(opened: Any) -> None:
    comm, connection = opened(document={"nodes": 3})
    assert connection.session.notices[0].level == "error"
    assert comm.call("hello", protocol=1, client="c")["result"]["document"]["nodes"] == {}


def test_interrupt_cancels_what_is_at_work(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, connection = opened(document=document())
    cancelled: list[str] = []
    monkeypatch.setattr(connection._port, "cancel", lambda: cancelled.append("preview"))
    jupyter.interrupt_all()
    assert cancelled == ["preview"]


def test_closing_ends_the_session(opened: Any) -> None:
    comm, connection = opened(document=document())
    comm.end({})
    for thread in (connection.session._thread, connection.session.jobs._thread):
        thread.join(LIMIT)
        assert not thread.is_alive()
    connection.close()


def test_outside_a_kernel_there_is_nothing_to_register() -> None:
    assert jupyter.register() in (True, False)
    assert jupyter.TARGET == "dali_lab.session"


OPERATORS_ARE_IMPORTED = """
import queue
from dali_lab.schema import Operator, register
from dali_lab.studio.session import Session
told = queue.Queue()
session = Session(None)
port = session.attach(lambda message, buffers: told.put(message.get("event") or message["kind"]))
session.receive(port, {"kind": "request", "id": 1, "method": "catalogue", "params": {}})
assert told.get(timeout=200) == "response"
register(type("Mine", (Operator,), {"name": "mine.one", "__module__": "__main__", "__doc__": "Does nothing."}))
assert told.get(timeout=200) == "catalogue"
session.close()
"""


def test_only_own_operators_are_news_for_the_catalogue() -> None:
    # In a process of its own: the package's operators are imported when the catalogue is asked for, and only once.
    run_python("-c", OPERATORS_ARE_IMPORTED)


def test_a_document_runs_no_code_in_the_kernel_before_the_person_allows_it(
    opened: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "it ran"
    (tmp_path / "kernel_functions.py").write_text(f"open({str(mark)!r}, 'w').close()\ndef turn(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    nodes = {
        "reader": {"op": "readers.file", "arguments": {"file_root": str(folder)}},
        "python": {
            "op": "python_function",
            "inputs": ["reader"],
            "arguments": {"function": {"$python": "kernel_functions:turn"}},
        },
        "elsewhere": {"op": "readers.file", "arguments": {"file_root": "/etc"}},
    }
    comm, connection = opened(document={**empty_document(), "nodes": nodes, "outputs": ["python"]})
    comm.call("hello", protocol=1, client="c")
    problems = comm.call("validate")["result"]["problems"]
    assert {(each["node"], each["code"]) for each in problems if each["severity"] == "error"} == {
        ("python", "consent"),
        ("elsewhere", "outside"),
    }
    comm.call("preview", run=1, samples=1, thumb=32)
    comm.call("run", run=2, batches=1)
    assert comm.call("open", path="/etc/passwd")["error"]["code"] == "outside"
    permission = {"what": "function", "name": "kernel_functions:turn"}
    question = comm.call("allow", permission=permission, consent="made up")["error"]
    assert not mark.exists() and "kernel_functions" not in sys.modules
    comm.call("allow", permission=permission, consent=question["consent"]["number"])
    assert mark.exists()
    connection.close()


FOLDER_IS_HELD = """
import builtins, sys
from IPython.core.interactiveshell import InteractiveShell
import dali_lab.studio.hosts.jupyter as host
from dali_lab.io.roots import Roots
from dali_lab.studio.permissions import Permissions, question
from dali_lab.studio.protocol.values import Permission
sys.path[:] = filter(None, sys.path)  # as the extension's import code leaves it
shell = InteractiveShell.instance()
host.hold(shell)
wanted = Permission("function", "beside:turn")
assert "from " in question(wanted) and "def turn" in question(wanted)
assert "" not in sys.path and not hasattr(builtins, "ran")
Permissions(Roots([])).allow(wanted)
assert sys.path[-1] == "" and builtins.ran == ["beside"]
shell.run_cell("import sched")
assert sys.path[0] == "" and sys.path.count("") == 1 and builtins.ran == ["beside", "sched"]
"""


def test_modules_beside_a_document_are_imported_once_the_person_says_so(tmp_path: Path) -> None:
    for name in ("beside", "sched"):
        ran = f"import builtins\nbuiltins.ran = [*getattr(builtins, 'ran', []), {name!r}]\n"
        (tmp_path / f"{name}.py").write_text(f"{ran}def turn(x):\n    return x\n")
    run_python("-P", "-c", FOLDER_IS_HELD, cwd=tmp_path, PYTHONPATH=str(Path(__file__).parents[3]))
