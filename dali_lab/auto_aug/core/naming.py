"""Errors of functions that are no operators name the function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from dali_lab.model.errors import DaliLabError

Function = TypeVar("Function", bound=Callable[..., Any])


def named(function: Function) -> Function:
    """Name `function`, or the outermost of nested calls, in errors that name no operator."""

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> Any:
        try:
            return function(*args, **kwargs)
        except DaliLabError as error:
            if error.operator is None and error.node is None:
                error.function = f"auto_aug.{function.__qualname__.removesuffix('.__init__')}"
            raise

    return call  # type: ignore[return-value]
