"""Many small cases as one test: what pytest does for a test, in each of its workers, costs more than most of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

Test = TypeVar("Test", bound=Callable[..., None])


def try_all(test: Callable[..., None], cases: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Call a function with the arguments of each named case, and raise all failures together."""
    failures: list[Exception] = []
    for name, arguments in cases:
        try:
            test(**arguments)
        except (Exception, pytest.fail.Exception) as error:
            failure = error if isinstance(error, Exception) else AssertionError(str(error))
            failure.add_note(f"case: {name}")
            failures.append(failure.with_traceback(error.__traceback__))
    if failures:
        raise ExceptionGroup("cases that failed", failures)


def with_each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test with all values in turn: as ``pytest.mark.parametrize``, but in one test.

    For cases that take milliseconds, skip nothing and can share the fixtures of the test.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    cases: list[tuple[str, dict[str, Any]]] = []
    for value in values:
        case = value if isinstance(value, ParameterSet) else pytest.param(*(value if len(keys) > 1 else [value]))
        arguments = dict(zip(keys, case.values, strict=True))
        cases.append((str(case.id or arguments), arguments))

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            try_all(functools.partial(test, **fixtures), cases)

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        assert len(rest) == len(signature.parameters) - len(keys), f"{test.__name__} does not take all of {keys}"
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate
