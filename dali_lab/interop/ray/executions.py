"""Executions of Ray Data whose tasks begin at once, so that CPUs do not wait for them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

try:
    from ray.data._internal.execution import metadata_fetcher
    from ray.data._internal.execution.execution_callback import ExecutionCallback
except ImportError:  # another release of Ray, where executions remain as Ray Data has them
    metadata_fetcher = ExecutionCallback = None

if TYPE_CHECKING:
    from ray.data import Dataset

_PATIENCE = 0.5
"""Seconds to wait for an answer; without one, an execution starts as Ray Data starts it."""

_ON_THREAD = "RAY_DATA_METADATA_PREFETCH_ON_THREAD"
"""Variable by which somebody chooses how Ray Data fetches what it knows of blocks."""


class BeginAtOnce(ExecutionCallback or object):  # type: ignore[misc]
    """Has tasks begin at once, at the start of an execution and when others end.

    Where the parts of Ray Data that this uses have changed, nothing happens.
    """

    def before_execution_starts(self, executor: Any) -> None:
        """Called by Ray Data."""
        _know_resources(executor)
        _see_ends_at_once(executor)


def _know_resources(executor: Any) -> None:
    """Wait until the resources of the cluster are known.

    Ray Data asks for them without waiting for the answer, and again after a second. Until then it takes the cluster for
    one without CPUs, on which it runs one task at a time.
    """
    total = getattr(getattr(executor, "_cluster_autoscaler", None), "get_total_resources", None)
    manager: Any = getattr(executor, "_resource_manager", None)
    if total is None or not hasattr(manager, "_global_limits_last_update_time"):
        return
    end = time.monotonic() + _PATIENCE
    while not total().cpu and time.monotonic() < end:
        time.sleep(0.005)
    manager._global_limits_last_update_time = 0  # what was found before the answer is no longer taken for it


def _see_ends_at_once(executor: Any) -> None:
    """Fetch the metadata of blocks in the turn in which they come.

    On a thread, they are there in the next turn, 0.1 s later, and a task only then counts as ended. That pays where
    there are many small blocks; ours are few and large.
    """
    inline = getattr(metadata_fetcher, "InlineMetadataFetcher", None)
    if inline is not None and hasattr(executor, "_metadata_fetcher") and _ON_THREAD not in os.environ:
        executor._metadata_fetcher = inline()


def begin_at_once(data: Dataset) -> None:
    """Have the tasks of each execution of a dataset begin at once."""
    classes = getattr(data.context, "custom_execution_callback_classes", None)
    if ExecutionCallback is not None and classes is not None and BeginAtOnce not in classes:
        data.context.custom_execution_callback_classes = [*classes, BeginAtOnce]
