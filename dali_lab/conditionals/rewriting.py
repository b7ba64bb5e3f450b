"""Rewrites functions so that their conditions call :mod:`dali_lab.conditionals.runtime`, line numbers kept."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from dali_lab.conditionals import runtime
from dali_lab.conditionals.returns import move_returns_last
from dali_lab.conditionals.transformation import RUNTIME, rewrite_function

_LEFT_ALONE = frozenset(
    {
        "dali_lab",
        "nvidia",
        "numpy",
        "torch",
        "torchvision",
        "cupy",
        "cv2",
        "numba",
        "scipy",
        "PIL",
        "jax",
        "pytest",
        "_pytest",
        "IPython",
    }
    | set(sys.stdlib_module_names) - {"__main__"}
)
_REWRITTEN_OF_OURS = ("dali_lab.auto_aug", "dali_lab.interop.torchvision")
_FUTURE = 0x1FF0000 | 0x100000  # the compiler flags of `from __future__` imports
_codes: weakref.WeakKeyDictionary[types.CodeType, types.CodeType | None] = weakref.WeakKeyDictionary()


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its conditions rewritten; as it is where its source cannot be found.

    Warns
    -----
    UserWarning
        If the source is needed and cannot be found.
    """
    result = _convert(function) if isinstance(function, types.FunctionType) else converted_callable(function)
    if result is function and isinstance(function, types.FunctionType) and not is_rewritten(function):
        warnings.warn(
            f"the source of {function.__qualname__} cannot be found, so its conditions stay Python's own;"
            " define it in a file or a notebook",
            stacklevel=3,
        )
    return result


def converted_callable(function: object) -> Any:
    """The function to call instead: a rewritten version of functions and methods that are the user's own."""
    if isinstance(function, types.FunctionType):
        return _convert(function) if _is_users(function) else function
    if isinstance(function, types.MethodType):
        inner = function.__func__
        if isinstance(inner, types.FunctionType) and _is_users(inner):
            return types.MethodType(_convert(inner), function.__self__)
        return function
    if isinstance(function, functools.partial):
        return functools.partial(converted_callable(function.func), *function.args, **function.keywords)
    if isinstance(function, (type, types.BuiltinFunctionType, types.ModuleType)):
        return function
    method = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(method, types.FunctionType) and _is_users(method):
        return types.MethodType(_convert(method), function)
    return function


def is_rewritten(function: object) -> bool:
    """Whether a function is the rewritten version of one that had conditions, or was made within such a one."""
    code = getattr(function, "__code__", None)
    return getattr(function, "_dali_lab_rewritten", False) is True or RUNTIME in getattr(code, "co_freevars", ())


def _is_users(function: types.FunctionType) -> bool:
    """Whether conditions in this function may be about nodes: it is no library's, and nobody forbade it."""
    if function.__dict__.get("_dali_lab_do_not_convert") or function.__dict__.get("_is_pipeline_def"):
        return False
    if is_rewritten(function):
        return False
    if function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    module = function.__module__ or ""
    if any(f"{module}.".startswith(f"{ours}.") for ours in _REWRITTEN_OF_OURS):
        return True
    return module.split(".")[0] not in _LEFT_ALONE


def _convert(function: types.FunctionType) -> types.FunctionType:
    if is_rewritten(function):
        return function
    code = function.__code__
    if code not in _codes:
        _codes[code] = _rewrite(code, function.__qualname__)
    new = _codes[code]
    if new is None:
        return function
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = types.CellType(runtime)
    closure = tuple(cells[name] for name in new.co_freevars)
    result = types.FunctionType(new, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__qualname__ = function.__qualname__
    result.__doc__ = function.__doc__
    result.__dict__.update(function.__dict__)
    result._dali_lab_rewritten = True  # type: ignore[attr-defined]
    return result


def _rewrite(code: types.CodeType, qualname: str) -> types.CodeType | None:
    """The code of the function, rewritten; `None` where the source is missing."""
    found = _lambda_of(code) if code.co_name == "<lambda>" else _definition_of(code)
    if found is None:
        return None
    found.decorator_list = []
    found.args.defaults = [ast.Constant(None) for _ in found.args.defaults]
    found.args.kw_defaults = [None if default is None else ast.Constant(None) for default in found.args.kw_defaults]
    found.body = move_returns_last(found.body)
    rewrite_function(found)
    module = _wrapped(found, code.co_freevars, qualname)
    try:
        compiled = compile(module, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except SyntaxError:  # a construct that cannot be moved into a branch's function
        return None
    return _find(compiled, code.co_name)


def _definition_of(code: types.CodeType) -> ast.FunctionDef | None:
    """The ``def`` that a code object was compiled from."""
    try:
        lines, start = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    source = "".join(lines)
    shift = start - 1
    if source[:1] in " \t":
        # One more line in front makes an indented block of it, without touching strings that span lines.
        source, shift = "if True:\n" + source, shift - 1
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    ast.increment_lineno(tree, shift)
    return next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name), None)


def _lambda_of(code: types.CodeType) -> ast.FunctionDef | None:
    """The ``lambda`` that a code object was compiled from, as a function that returns its value."""
    try:
        lines, _ = inspect.findsource(code)
        tree = ast.parse("".join(lines))
    except (OSError, TypeError, SyntaxError):
        return None
    # The places that its instructions come from tell a lambda from the others on its line.
    places = [place for place in code.co_positions() if None not in place and place[2:] != (0, 0)]
    if not places:
        return None
    first = min((line, column) for line, _, column, _ in places)
    last = max((line, column) for _, line, _, column in places)
    found: ast.Lambda | None = None
    for node in ast.walk(tree):  # outer ones come before those inside them
        if isinstance(node, ast.Lambda) and _begin(node.body) <= first and last <= _end(node.body):
            found = node
    if found is None:
        return None
    function = ast.FunctionDef(code.co_name, found.args, [ast.Return(found.body)], [])
    if sys.version_info >= (3, 12):
        function.type_params = []
    ast.copy_location(function, found)
    ast.copy_location(function.body[0], found.body)
    return function


def _begin(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _wrapped(function: ast.FunctionDef, free: Iterable[str], qualname: str) -> ast.Module:
    """A module in which the function stands where its free variables are variables of a function around it."""
    body: list[ast.stmt] = [function]
    parts = qualname.split(".")
    if len(parts) > 1 and parts[-2] != "<locals>":
        # Inside a class, so that private names are mangled as they were.
        body = [ast.ClassDef(name=parts[-2], bases=[], keywords=[], body=body, decorator_list=[])]
    elif function.name not in free:
        # A function of a module that calls itself finds itself in the module.
        body = [ast.Global([function.name]), *body]
    names = [ast.arg(arg=name) for name in (*(name for name in free if name != RUNTIME), RUNTIME)]
    arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    around = ast.FunctionDef(name="__around__", args=arguments, body=body, decorator_list=[])
    if sys.version_info >= (3, 12):
        around.type_params = []
        for node in body:
            if isinstance(node, ast.ClassDef):
                node.type_params = []
    module = ast.Module(body=[around], type_ignores=[])
    return ast.fix_missing_locations(module)


def _find(code: types.CodeType, name: str) -> types.CodeType | None:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name == name:
                return constant
            found = _find(constant, name)
            if found is not None:
                return found
    return None
