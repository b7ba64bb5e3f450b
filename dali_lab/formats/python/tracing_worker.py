"""Runs a person's program in a process of its own and writes down the graph of one of its pipelines."""

from __future__ import annotations

import importlib.util
import inspect
import io
import json
import linecache
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from dali_lab import compat
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python.calls import with_subgraphs
from dali_lab.formats.python.comments import with_comments
from dali_lab.formats.python.programs import STAND_INS
from dali_lab.pipeline.pipeline import Pipeline

_UNNAMED = "traced_program"
"""Module name of a program that cannot be imported by its own."""


def main() -> int:
    """Trace the task that stands in the standard input, as JSON, into the file that the command line names."""
    task, answer = json.load(sys.stdin), Path(sys.argv[1])
    sys.argv = [task["path"]]
    try:
        pipeline = _trace(task)
        graph = with_subgraphs(pipeline.graph, pipeline._recorder.subgraphs, task["text"])
        graph = with_comments(graph, task["text"], task["path"])
        text = json.dumps({"document": json_file.to_document(graph)})
    except BaseException as error:
        # The program is the user's: it may raise anything, and leave by any way.
        text = json.dumps({"error": _describe(error, task["path"])})
    answer.write_text(text, "utf-8")
    return 0


def _trace(task: dict[str, Any]) -> Pipeline:
    compat.install()
    path = Path(task["path"])
    sys.path.insert(0, str(path.parent))
    module = _load(path, task["text"])
    found: Any = getattr(module, task["name"], None)
    if isinstance(found, Pipeline):
        return found
    if task["style"] == "context" or found is None:
        raise LookupError(f"after the program ran there is no pipeline '{task['name']}'")
    arguments = dict(task["arguments"])
    if task["style"] == "class":
        parameters = inspect.signature(found).parameters
        missing = {key: value for key, value in STAND_INS.items() if key in parameters and key not in arguments}
        return found(**missing, **arguments)  # type: ignore[no-any-return]
    if getattr(found, "_is_pipeline_def", False):
        arguments["debug"] = False  # with debug mode there would be data and no graph
    pipeline = found(**arguments)
    if not isinstance(pipeline, Pipeline):
        raise TypeError(f"'{task['name']}' gives a {type(pipeline).__name__}, and no pipeline")
    return pipeline


def _load(path: Path, text: str) -> ModuleType:
    """Run the text as the module in the file, which is not read."""
    name = path.stem if path.stem.isidentifier() and path.stem not in sys.modules else _UNNAMED
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Sources that are asked for by `inspect` come from here, too; an entry without a time is never read again.
    linecache.cache[str(path)] = len(text), None, io.StringIO(text, newline=None).readlines(), str(path)
    exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    if name == _UNNAMED:
        del sys.modules[name]  # so that functions in it are not taken for ones that can be imported
    return module


def _describe(error: BaseException, path: str) -> str:
    """The error, and the line of the program where it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) == path]
    place = f"line {frames[-1].lineno}: " if frames else ""
    if isinstance(error, SyntaxError):
        place = f"line {error.lineno}: "
    return f"{place}{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
