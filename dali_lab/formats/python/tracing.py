"""Code to graph by running it: a pipeline of a program is traced in another process.

A program runs only when :func:`trace` or :func:`trace_text` is called, which is for callers whose user agreed to that.
It runs apart, with a time limit, and can be cancelled; what it prints is kept away from the caller's own output. The
other process gets the text and does not read the file again, so nothing else runs than what the caller has read.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from dali_lab.formats.disk import PathLike, read_bytes
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python.programs import decoded, pipelines
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import FormatError, nearest
from dali_lab.model.subprocesses import environment, own_module

DEFAULT_TIMEOUT = 60.0
_POLL = 0.05
_MOST_OUTPUT = 2000


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
    """As :func:`trace_text`, for the program in a file."""
    text = decoded(read_bytes(path))
    return trace_text(text, name, path=path, arguments=arguments, timeout=timeout, cancel=cancel)


def trace_text(
    text: str,
    name: str | None = None,
    *,
    path: PathLike | None = None,
    arguments: dict[str, object] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    cancel: threading.Event | None = None,
) -> Graph:
    """Run a program in another process and give the graph of one of its pipelines.

    The program runs as a module: what stands under ``if __name__ == "__main__"`` does not. ``import nvidia.dali`` in it
    gives DALI Lab.

    Parameters
    ----------
    text
        The program. Call this only for one whose user agreed to run it.
    name
        Which pipeline; needed if there are several.
    path
        The file that it was read from: its name in messages, and its folder is where the program imports from.
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
    source = None if path is None else os.fspath(path)
    entries = pipelines(text)
    names = list(dict.fromkeys(entry.name for entry in entries))
    if name is None:
        if len(names) != 1:
            what = f"several pipelines here: {', '.join(names)}; choose one" if names else "no pipeline here"
            raise FormatError(f"there {'are' if names else 'is'} {what}", source=source)
        name = names[0]
    elif name not in names:
        raise FormatError(f"there is no pipeline '{name}'{nearest(name, names)}", source=source)
    style = next(entry.style for entry in entries if entry.name == name)
    with tempfile.TemporaryDirectory(prefix="dali-lab-") as folder:
        answer = Path(folder) / "answer.json"
        place = os.path.join(folder, "pasted program.py") if path is None else os.path.abspath(path)
        task = {"text": text, "path": place, "name": name, "style": style, "arguments": arguments or {}}
        command = own_module("dali_lab.formats.python.tracing_worker", str(answer))
        _run(command, json.dumps(task), timeout, cancel)
        if not answer.exists():
            raise FormatError("the program ended before its pipeline was traced", source=source)
        result = json.loads(answer.read_text("utf-8"))
    if "error" in result:
        raise FormatError(result["error"], source=source)
    return json_file.from_document(result["document"])


def _run(command: list[str], task: str, timeout: float, cancel: threading.Event | None) -> None:
    """Run a command, with a task to read, in a process group of its own, to its end or to ours."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as given:
        given.write(task.encode("ascii"))
        given.seek(0)
        process = subprocess.Popen(
            command,
            stdin=given,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment(),
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
