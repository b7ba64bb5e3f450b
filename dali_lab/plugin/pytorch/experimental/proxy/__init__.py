"""DALI proxy: the workers of a ``DataLoader`` send samples to one pipeline in the main process.

A :class:`DALIServer` runs the pipeline; its :attr:`~DALIServer.proxy` stands where a dataset has a transform, and gives
a reference for each sample. Collating references sends their inputs to the server, and
:meth:`~DALIServer.produce_data`, or :class:`DataLoader` by itself, puts the outputs in place of the references.

:class:`StatefulDataLoader` is torchdata's, and needs that package.
"""

from typing import Any

from dali_lab.interop.proxy.client import (
    DALIOutputBatchRef,
    DALIOutputSampleRef,
    DALIPipelineRunRef,
)
from dali_lab.interop.proxy.loader import DataLoader
from dali_lab.interop.proxy.server import DALIServer
from dali_lab.model.extras import importing

__all__ = ["DALIOutputBatchRef", "DALIOutputSampleRef", "DALIPipelineRunRef", "DALIServer", "DataLoader"]


def __getattr__(name: str) -> Any:
    if name != "StatefulDataLoader":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with importing("torchdata", "torchdata"):
        from dali_lab.interop.proxy.stateful import StatefulDataLoader

    return StatefulDataLoader
