"""Signatures that repeat another function's parameters without declaring them again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import TypeVar

Result = TypeVar("Result")


def with_parameters_of(
    declared: Callable[..., object], *, without: Collection[str] = ()
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a function with ``**settings`` the parameters of another one, by position and by name.

    The parameters are the function's positional ones, those of `declared` that it has not itself, and its keyword-only
    ones; :func:`inspect.signature` shows them. The function gets those of `declared` in ``settings``.

    Parameters
    ----------
    without
        Parameters of `declared` that are left out.
    """

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        own = inspect.signature(function)
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
        first = [one for one in own.parameters.values() if one.kind is plain]
        last = [
            one.replace(kind=plain) for one in own.parameters.values() if one.kind is inspect.Parameter.KEYWORD_ONLY
        ]
        known = {*without, *(one.name for one in (*first, *last))}
        taken = [one for one in inspect.signature(declared).parameters.values() if one.name not in known]
        signature = own.replace(parameters=[*first, *taken, *last])

        @functools.wraps(function)
        def bound(*args: object, **kwargs: object) -> Result:
            return function(**signature.bind(*args, **kwargs).arguments)

        bound.__signature__ = signature  # type: ignore[attr-defined]
        return bound

    return decorate
