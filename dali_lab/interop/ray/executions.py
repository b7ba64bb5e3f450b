"""The start of an execution of Ray Data: all CPUs of the cluster are used from its first moment on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

try:
    from ray.data._internal.execution.execution_callback import ExecutionCallback
except ImportError:  # another release of Ray, where executions start as Ray Data starts them
    ExecutionCallback = None

if TYPE_CHECKING:
    from ray.data import Dataset

_PATIENCE = 0.5
"""Seconds to wait for an answer; without one, an execution starts as Ray Data starts it."""


class KnowResources(ExecutionCallback or object):  # type: ignore[misc]
    """Asks for the cluster's resources before an execution starts.

    Ray Data asks without waiting for the answer, and again after a second. Until then it takes the cluster for one
    without CPUs, on which it runs one task at a time. Where the parts of Ray Data that this uses have changed, nothing
    happens.
    """

    def before_execution_starts(self, executor: Any) -> None:
        """Wait until the resources are known."""
        autoscaler = getattr(executor, "_cluster_autoscaler", None)
        total = getattr(autoscaler, "get_total_resources", None)
        manager: Any = getattr(executor, "_resource_manager", None)
        if total is None or not hasattr(manager, "_global_limits_last_update_time"):
            return
        end = time.monotonic() + _PATIENCE
        while not total().cpu and time.monotonic() < end:
            time.sleep(0.005)
        manager._global_limits_last_update_time = 0  # what was found before the answer is no longer taken for it


def use_all_from_the_start(data: Dataset) -> None:
    """Have each execution of a dataset know the cluster's resources when it starts."""
    classes = getattr(data.context, "custom_execution_callback_classes", None)
    if ExecutionCallback is not None and classes is not None and KnowResources not in classes:
        data.context.custom_execution_callback_classes = [*classes, KnowResources]
