"""Hooks for the end of the process, and for forked children."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[[], object])


def after_fork(function: Function) -> Function:
    """Call a function in every forked child, where locks that other threads held stay locked: no thread is there."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
    return function


def ended_at_exit(end: Callable[[T], object]) -> weakref.WeakSet[T]:
    """A set of objects with threads: `end` is called with each of them before the interpreter ends.

    Of several such sets, the last one made is ended first. A forked child begins with an empty set.
    """
    living: weakref.WeakSet[T] = weakref.WeakSet()

    @atexit.register
    def _end() -> None:
        for each in list(living):
            end(each)

    after_fork(living.clear)
    return living
