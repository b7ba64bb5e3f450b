"""Compiles all kernels ahead of their first use, by running each operator's own small cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dali_lab import fn
from dali_lab.errors import DaliLabError
from dali_lab.pipeline import Pipeline
from dali_lab.schema.operator import Case, PerSample
from dali_lab.schema.registry import all_operators


def compile_kernels(tell: Callable[[float, str], None] | None = None) -> int:
    """Run every case of every operator once, so that its kernels are in the cache on disk.

    Parameters
    ----------
    tell
        Called with the share that is done and the operator that is next.

    Returns
    -------
    int
        Number of operators that ran.
    """
    operators = list(all_operators().items())
    ran = 0
    for index, (name, operator) in enumerate(operators):
        if tell is not None:
            tell(index / len(operators), name)
        worked = False
        for case in operator.cases():
            worked = run_case(name, case) or worked
        ran += worked
    return ran


def run_case(name: str, case: Case) -> bool:
    """Run one case; whether it ran."""
    inputs = [item if isinstance(item, tuple) else (item, "") for item in case.inputs]
    sizes = [len(arrays) for arrays, _ in inputs]
    sizes += [len(value.values) for value in case.arguments.values() if isinstance(value, PerSample)]
    pipeline = Pipeline(sizes[0] if sizes else case.batch_size, 1, None, seed=1, prefetch_queue_depth=1)
    function: Any = fn
    for part in name.split("."):
        function = getattr(function, part)
    try:
        with pipeline:
            nodes = [_source(arrays, layout) for arrays, layout in inputs]
            arguments = {
                key: _source(value.values, value.layout) if isinstance(value, PerSample) else value
                for key, value in case.arguments.items()
            }
            result = function(*nodes, **arguments)
            pipeline.set_outputs(*(result if isinstance(result, (tuple, list)) else (result,)))
        pipeline.run()
    except (DaliLabError, TypeError, ValueError, NotImplementedError):
        # A case that cannot run here has nothing to compile; the conformance tests are where that is looked into.
        return False
    finally:
        pipeline.close()
    return True


def _source(arrays: Any, layout: str) -> Any:
    batch = [np.asarray(array) for array in arrays]
    options = {"layout": layout} if layout else {}
    return fn.external_source(source=lambda: batch, **options)  # type: ignore[attr-defined]
