"""Operators of other packages and Python functions run in the editor once the person has allowed exactly that code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, document

Open = Callable[..., Session]

FUNCTION = """
open({mark!r}, "w").close()

def turn(picture):
    return 255 - picture
"""

PACKAGE = """
from dali_lab.schema import Input, Operator, Output, register

@register
class Theirs(Operator):
    \"\"\"Marks that it ran.\"\"\"

    name = "door_theirs"
    family = "color"
    title = "Theirs"
    inputs = (Input("data"),)
    outputs = (Output("data"),)
    beyond_dali = True

    def run(self, call, data):
        open({mark!r}, "w").close()
        return data
"""

PROBE = """
import json, sys
from pathlib import Path
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, document

folder, mark = Path(sys.argv[1]), Path(sys.argv[2])
session = Session(document(folder, theirs={"op": "door_theirs", "inputs": ["decode"]}), root=folder, threads=1)
client = Client(session)
problems = [each for each in client.call("validate")["problems"] if each.get("code") == "consent"]
client.preview()
client.send("run", run=50, batches=1)
client.event("run.done")
found = {"problems": problems, "ran before": mark.exists()}
permission = problems[0]["permission"]
found["forged"] = client.error("allow", permission=permission, consent="made up")["code"]
client.preview()
found["ran after a forged number"] = mark.exists()
asked = client.error("allow", permission=permission)["consent"]
found["text"] = asked["text"]
client.call("allow", permission=permission, consent=asked["number"])
client.preview()
found["ran after it was allowed"] = mark.exists()
session.close()
print(json.dumps(found))
"""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that the code makes."""
    return tmp_path / "it ran"


@pytest.fixture
def module(tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of somebody else, which can be imported."""
    place = tmp_path / "modules"
    place.mkdir()
    path = place / "door_functions.py"
    path.write_text(FUNCTION.format(mark=str(mark)))
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, "door_functions", raising=False)
    return path


@pytest.fixture
def client(open_session: Open, folder: Path) -> Client:
    """A client of a session with a graph that names the function."""
    python: dict[str, Any] = {"op": "python_function", "inputs": ["decode"]}
    python["arguments"] = {"function": {"$python": "door_functions:turn"}}
    found = Client(open_session())
    found.call("open", text=json.dumps(document(folder, python=python)))
    return found


def lacking(client: Client) -> dict[str, str]:
    problem = next(each for each in client.call("validate")["problems"] if each.get("code") == "consent")
    assert (problem["node"], problem["argument"]) == ("python", "function")
    return dict(problem["permission"])


def test_a_function_is_imported_once_it_is_allowed(client: Client, module: Path, mark: Path) -> None:
    permission = lacking(client)
    assert permission == {"what": "function", "name": "door_functions:turn"}
    client.preview()
    asked = client.error("allow", permission=permission)["consent"]
    assert module.read_text() in asked["text"] and str(module) in asked["text"]
    for number in ("made up", True, None):
        assert client.error("allow", permission=permission, consent=number)["code"] == "consent"
    assert not mark.exists() and "door_functions" not in sys.modules
    client.call("allow", permission=permission, consent=asked["number"])
    assert mark.exists()
    assert client.preview()["python"]["outputs"]


def test_a_function_that_changed_since_it_was_shown_is_shown_again(client: Client, module: Path, mark: Path) -> None:
    permission = lacking(client)
    asked = client.error("allow", permission=permission)["consent"]
    module.write_text(module.read_text() + "\n# another text\n")
    error = client.error("allow", permission=permission, consent=asked["number"])
    assert "has changed" in error["message"]
    assert "another text" in error["consent"]["text"]
    assert not mark.exists()


@pytest.mark.parametrize("name", ["no_such_module:f", "door_functions.inner:f", "os..path:f", ":", "", "a:b:c"])
def test_what_is_not_there_cannot_be_allowed(client: Client, module: Path, mark: Path, name: str) -> None:
    error = client.error("allow", permission={"what": "function", "name": name})
    assert error["code"] in ("not_found", "failed") and "consent" not in error
    assert not mark.exists()


def test_the_question_about_a_part_of_a_package_imports_no_package(client: Client, module: Path, mark: Path) -> None:
    package = module.parent / "door_package"
    package.mkdir()
    (package / "__init__.py").write_text(module.read_text())
    (package / "part.py").write_text("def f(x):\n    return x\n")
    asked = client.error("allow", permission={"what": "function", "name": "door_package.part:f"})["consent"]
    assert "return x" in asked["text"]
    assert not mark.exists() and "door_package" not in sys.modules


def test_operators_of_another_package_run_once_they_are_allowed(folder: Path, tmp_path: Path, mark: Path) -> None:
    """In a process of its own: packages are looked for once."""
    site = tmp_path / "site"
    info = site / "door_theirs-1.5.dist-info"
    info.mkdir(parents=True)
    (site / "door_theirs.py").write_text(PACKAGE.format(mark=str(mark)))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: door-theirs\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("[dali_lab.operators]\ntheirs = door_theirs\n")
    here = str(Path(__file__).parents[3])
    code = f"import sys; sys.path[:0] = [{str(site)!r}, {here!r}]\n{PROBE}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), str(mark)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert [each["permission"] for each in found["problems"]] == [{"what": "package", "name": "door-theirs"}]
    assert found["forged"] == "consent"
    assert not found["ran before"] and not found["ran after a forged number"]
    assert "door-theirs 1.5" in found["text"] and "fn.door_theirs" in found["text"] and "class Theirs" in found["text"]
    assert found["ran after it was allowed"]
