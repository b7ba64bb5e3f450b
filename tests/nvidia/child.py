"""Runs cases of one of NVIDIA DALI's test files in this process, and reports each as a line of JSON.

nose2 and its decorators are followed as far as these tests use them: functions, generators of calls, parameter lists,
``unittest`` classes and plain classes, and set-up functions of modules, classes and functions.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import os
import random
import re
import sys
import traceback
import unittest
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import numpy as np

MOST_GENERATED = 20_000
"""Generators of calls are followed no further than this."""

REFUSED_WITHOUT_GPU = re.compile(r"test_(move_to_device_(end|middle)|(gpu|mixed)_op_bad_device|arithm_ops_cpu_gpu)\b")
"""Cases about the error that a machine without a GPU gives: run with ``DALI_LAB_GPU=require``, which asks for it."""

_WORDING = re.compile(r'^".*" does not match ".*"', re.DOTALL)


class _Report:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, **line: Any) -> None:
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()


def spread(count: int, most: int) -> list[int]:
    """Up to `most` of `count` indices, evenly spread; all for 0."""
    if not most or count <= most:
        return list(range(count))
    return sorted({round(step * (count - 1) / max(most - 1, 1)) for step in range(most)})


def _chosen(name: str, count: int, most: int, only: Collection[str] | None) -> list[int]:
    """The indices of the cases of a function that are run: those that are asked for, or some."""
    if only is None:
        return spread(count, most)
    return [index for index in range(count) if f"{name}:{index + 1}" in only]


def _generates(function: Any) -> bool:
    """Whether a function, or what is behind its decorators, is a generator."""
    return any(map(inspect.isgeneratorfunction, (function, inspect.unwrap(function))))


def _settings(function: Any) -> list[tuple[Any, ...]] | None:
    """The parameters that ``nose2.tools.params`` gave a function."""
    found = getattr(function, "paramList", None)
    return None if found is None else [item if isinstance(item, tuple) else (item,) for item in found]


def _seeded() -> None:
    random.seed(0)
    np.random.seed(0)


def _generated(
    name: str, function: Callable[..., Any], most: int, only: Collection[str] | None
) -> Iterator[tuple[int, Callable[[], Any]]]:
    """The chosen calls of a generator, each run while the generator waits, as nose2 does."""
    _seeded()
    count = 0
    with contextlib.suppress(AssertionError):  # what is checked between the calls, which are only counted
        for _ in function():
            count += 1
            if count == MOST_GENERATED:
                break
    chosen = set(_chosen(name, count, most, only))
    _seeded()
    for index, item in enumerate(function()):
        if index > max(chosen, default=-1):
            return
        if index in chosen:
            call, *arguments = item if isinstance(item, (tuple, list)) else (item,)
            yield index, lambda call=call, arguments=arguments: call(*arguments)


def _cases_of_function(
    name: str, function: Any, most: int, only: Collection[str] | None
) -> Iterator[tuple[str, Callable[[], Any]]]:
    if _generates(function):
        for index, call in _generated(name, function, most, only):
            yield f"{name}:{index + 1}", call
        return
    settings = _settings(function)
    if settings is None:
        yield name, function
        return
    for index in _chosen(name, len(settings), most, only):
        yield f"{name}:{index + 1}", lambda index=index: function(*settings[index])


def _cases_of_class(
    name: str, owner: type, most: int, only: Collection[str] | None
) -> Iterator[tuple[str, Callable[[], Any]]]:
    def run(method: str, arguments: tuple[Any, ...]) -> None:
        instance = owner(method) if issubclass(owner, unittest.TestCase) else owner()
        try:
            getattr(instance, "setUp", lambda: None)()
            getattr(instance, method)(*arguments)
        finally:
            getattr(instance, "tearDown", lambda: None)()
            getattr(instance, "doCleanups", lambda: None)()

    for method in sorted(dir(owner)):
        function = getattr(owner, method)
        if not method.startswith("test") or not callable(function):
            continue
        if _generates(function):
            for index, call in _generated(f"{name}.{method}", getattr(owner(), method), most, only):
                yield f"{name}.{method}:{index + 1}", call
            continue
        settings = _settings(function)
        if settings is None:
            yield f"{name}.{method}", lambda method=method: run(method, ())
            continue
        for index in _chosen(f"{name}.{method}", len(settings), most, only):
            yield f"{name}.{method}:{index + 1}", lambda method=method, values=settings[index]: run(method, values)


def cases(
    module: ModuleType, most: int, only: Collection[str] | None = None
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """All cases of a module, `most` of each function with several; an error of a generator is a case that raises it."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__ and not isinstance(value, type):
            if not (callable(value) and name.startswith("test_") and hasattr(value, "__wrapped__")):
                continue
        if getattr(value, "__test__", True) is False:
            continue
        try:
            if isinstance(value, type):
                if value.__module__ != module.__name__:
                    continue
                if not (issubclass(value, unittest.TestCase) or name.startswith("Test")):
                    continue
                getattr(value, "setUpClass", lambda: None)()
                yield from _cases_of_class(name, value, most, only)
                getattr(value, "tearDownClass", lambda: None)()
            elif callable(value) and name.startswith("test"):
                yield from _cases_of_function(name, value, most, only)
        except Exception as error:
            yield f"{name}:collecting", lambda error=error: _raise(error)


def _raise(error: Exception) -> None:
    raise error


def _first(module: ModuleType, names: tuple[str, ...]) -> Callable[[], Any]:
    for name in names:
        function = getattr(module, name, None)
        if callable(function):
            return function
    return lambda: None


def _run(case: Callable[[], Any]) -> tuple[str, str]:
    """How a case ended: ``passed``, ``skipped``, ``wording`` or ``failed``, with the error."""
    _seeded()
    try:
        getattr(case, "setup", lambda: None)()
        try:
            case()
        finally:
            getattr(case, "teardown", lambda: None)()
    except AssertionError as error:
        status = "wording" if _WORDING.match(str(error)) else "failed"
        return status, _described(error)
    except (Exception, SystemExit) as error:
        return _ended(error), _described(error)
    return "passed", ""


def _ended(error: BaseException) -> str:
    """nose and unittest each have an exception of this name."""
    return "skipped" if type(error).__name__ == "SkipTest" else "failed"


def _described(error: BaseException) -> str:
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-4:]]
    return f"{type(error).__name__}: {str(error)[:1500]} [{' '.join(places)}]"


def _without_gpus() -> None:
    """Let pipelines have no device where tests ask for the first GPU, so that their cases on the CPU can run."""
    from nvidia.dali.pipeline import Pipeline

    original = Pipeline.__init__
    signature = inspect.signature(original)
    position = list(signature.parameters).index("device_id")

    @functools.wraps(original)
    def init(*arguments: Any, **options: Any) -> None:
        if len(arguments) > position:
            arguments = (*arguments[:position], None, *arguments[position + 1 :])
        else:
            options["device_id"] = None
        original(*arguments, **options)

    # ``getfullargspec``, by which pipeline functions sort their arguments from the pipeline, follows no wrappers.
    init.__signature__ = signature  # type: ignore[attr-defined]
    Pipeline.__init__ = init


def main() -> None:
    """Arguments: engine, root of the tests, file in it, cases of a function, file descriptor of the report.

    Standard input holds a JSON list of cases that are left out (``"skip"``) or the only ones (``"only"``).
    """
    engine, root, file, most, descriptor = sys.argv[1:6]
    selection = json.load(sys.stdin)
    skip, only = set(selection.get("skip", ())), selection.get("only")
    report = _Report(os.fdopen(int(descriptor), "w", encoding="utf-8"))
    path = Path(root) / file
    sys.argv = [str(path)]
    sys.path[:0] = [str(path.parent), root]
    os.chdir(root)
    if engine == "dali_lab":
        from dali_lab import compat

        compat.install()
    report(begin="import")
    try:
        _without_gpus()
        if (Path(root) / "nose_utils.py").exists():
            importlib.import_module("nose_utils")  # makes nose run on this Python

        module = importlib.import_module(path.stem)
        _first(module, ("setUpModule", "setup_module", "setUp", "setup"))()
    except BaseException as error:
        report(case="import", status=_ended(error), error=_described(error))
        return
    report(case="import", status="passed", error="")
    for name, case in cases(module, int(most), only):
        if name in skip or (only is not None and name not in only):
            continue
        report(begin=name)
        os.environ["DALI_LAB_GPU"] = "require" if REFUSED_WITHOUT_GPU.match(name) else "auto"
        status, error = _run(case)
        report(case=name, status=status, error=error)
    report(end=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
