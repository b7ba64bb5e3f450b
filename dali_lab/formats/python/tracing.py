"""Code to graph by running it: the pipelines in a program are listed, and the chosen one is traced in another process.

A program runs only when :func:`trace` is called, which is for callers whose user agreed to that. It runs apart, with a
time limit, and can be cancelled; what it prints is kept away from the caller's own output.
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dali_lab.formats.disk import PathLike, read_bytes
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python.names import STAND_INS
from dali_lab.formats.python.reader import decoded, decorator_of, parse, pipeline_classes
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import FormatError, nearest

Style = Literal["function", "class", "context"]
DEFAULT_TIMEOUT = 60.0
_POLL = 0.05
_MOST_OUTPUT = 2000
_MOST_DEFAULT = 200


@dataclass(frozen=True)
class Found:
    """A pipeline in a program.

    Attributes
    ----------
    name
        The function, the class, or the variable that holds the pipeline.
    style
        A function under ``pipeline_def``, a class with ``define_graph``, or a ``with`` block.
    line
        Where it begins.
    summary
        First line of its documentation.
    arguments
        Arguments that must be given.
    optional
        The others, each with its default as text, or `None` where that is no plain value.
    """

    name: str
    style: Style
    line: int
    summary: str = ""
    arguments: tuple[str, ...] = ()
    optional: tuple[tuple[str, str | None], ...] = ()


def pipelines(text: str) -> list[Found]:
    """The pipelines in a program, found without running it.

    Raises
    ------
    FormatError
        If it is no Python.
    """
    module = parse(text)
    found: list[Found] = []
    made: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and _makes_pipeline(node.value):
            made.update(target.id for target in node.targets if isinstance(target, ast.Name))
    classes = pipeline_classes(module)
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and decorator_of(node) is not None:
            required, optional = _arguments(node)
            found.append(Found(node.name, "function", node.lineno, _summary(node), required, optional))
        elif isinstance(node, ast.ClassDef) and node in classes:
            required, optional = _arguments_of_class(module, node)
            found.append(Found(node.name, "class", node.lineno, _summary(node), required, optional))
    for node in ast.walk(module):
        if not isinstance(node, ast.With):
            continue
        for item in node.items:
            expression, alias = item.context_expr, item.optional_vars
            if isinstance(expression, ast.Name) and expression.id in made:
                found.append(Found(expression.id, "context", node.lineno))
            elif _makes_pipeline(expression) and isinstance(alias, ast.Name):
                found.append(Found(alias.id, "context", node.lineno))
    return sorted(found, key=lambda entry: entry.line)


def _makes_pipeline(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) == "Pipeline"


def _summary(node: ast.FunctionDef | ast.ClassDef) -> str:
    return (ast.get_docstring(node) or "").strip().split("\n")[0]


_Arguments = tuple[tuple[str, ...], tuple[tuple[str, str | None], ...]]


def _arguments(node: ast.FunctionDef) -> _Arguments:
    """Arguments of a function that must be given, and the others with their defaults."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    pairs = [*zip(plain, [*defaults, *arguments.defaults], strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    required = tuple(each.arg for each, default in pairs if default is None)
    return required, tuple((each.arg, _plain_text(default)) for each, default in pairs if default is not None)


def _plain_text(default: ast.expr) -> str | None:
    try:
        value = ast.literal_eval(default)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return repr(value)[:_MOST_DEFAULT]


def _arguments_of_class(module: ast.Module, node: ast.ClassDef) -> _Arguments:
    """Arguments of a pipeline class: those of its constructor that have no stand-in."""
    known = {item.name: item for item in module.body if isinstance(item, ast.ClassDef)}
    for _ in known:
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                required, optional = _arguments(item)
                others = tuple(name for name in required[1:] if name not in STAND_INS)
                stand_ins = ((name, repr(STAND_INS[name])) for name in required if name in STAND_INS)
                return others, (*stand_ins, *optional)
        bases = [known[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in known]
        if not bases:
            break
        node = bases[0]
    return (), ()


def line_of(message: str) -> tuple[str, str]:
    """The line that a message begins with, ``"line 12"`` or empty, and the rest of it."""
    match = re.match(r"(line \d+): ", message)
    return (match[1], message[match.end() :]) if match else ("", message)


def trace(
    path: PathLike,
    name: str | None = None,
    *,
    arguments: dict[str, object] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    cancel: threading.Event | None = None,
) -> Graph:
    """Run a program in another process and give the graph of one of its pipelines.

    The program runs as a module: what stands under ``if __name__ == "__main__"`` does not. ``import nvidia.dali`` in it
    gives DALI Lab.

    Parameters
    ----------
    path
        The program. Call this only for a file whose user agreed to run it.
    name
        Which pipeline; needed if there are several.
    arguments
        Arguments for the function, as plain values.
    timeout
        Seconds that it may take.
    cancel
        Set by another thread to give up.

    Raises
    ------
    FormatError
        If it fails, takes too long, was cancelled, or has no such pipeline.
    """
    text = decoded(read_bytes(path))
    entries = pipelines(text)
    names = list(dict.fromkeys(entry.name for entry in entries))
    if name is None:
        if len(names) != 1:
            what = f"several pipelines here: {', '.join(names)}; choose one" if names else "no pipeline here"
            raise FormatError(f"there {'are' if names else 'is'} {what}", source=os.fspath(path))
        name = names[0]
    elif name not in names:
        raise FormatError(f"there is no pipeline '{name}'{nearest(name, names)}", source=os.fspath(path))
    style = next(entry.style for entry in entries if entry.name == name)
    with tempfile.TemporaryDirectory(prefix="dali-lab-") as folder:
        answer = Path(folder) / "answer.json"
        task = {"path": os.path.abspath(path), "name": name, "style": style, "arguments": arguments or {}}
        _run(
            [sys.executable, "-m", "dali_lab.formats.python.tracing_worker", json.dumps(task), str(answer)],
            timeout,
            cancel,
        )
        if not answer.exists():
            raise FormatError("the program ended before its pipeline was traced", source=os.fspath(path))
        result = json.loads(answer.read_text("utf-8"))
    if "error" in result:
        raise FormatError(result["error"], source=os.fspath(path))
    return json_file.from_document(result["document"])


def trace_text(text: str, name: str | None = None, **options: object) -> Graph:
    """As :func:`trace`, for a program that is in no file."""
    with tempfile.TemporaryDirectory(prefix="dali-lab-") as folder:
        path = Path(folder) / "pasted program.py"
        path.write_text(text, "utf-8")
        try:
            return trace(path, name, **options)  # type: ignore[arg-type]
        except FormatError as error:
            error.source = None
            raise


def _run(command: list[str], timeout: float, cancel: threading.Event | None) -> None:
    """Run a command in a process group of its own, to its end or to ours."""
    root = str(Path(__file__).parents[3])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        end = time.monotonic() + timeout
        try:
            while process.poll() is None:
                if cancel is not None and cancel.wait(_POLL):
                    raise FormatError("cancelled")
                if cancel is None:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_POLL)
                if time.monotonic() > end:
                    raise FormatError(f"the program took longer than {timeout:g} s and was stopped")
        finally:
            _stop(process)
        if process.returncode:
            output.seek(0, os.SEEK_END)
            output.seek(max(0, output.tell() - _MOST_OUTPUT))
            said = output.read().decode("utf-8", "replace").strip()
            raise FormatError(f"the program ended with status {process.returncode}" + (f":\n{said}" if said else ""))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    process.wait()
