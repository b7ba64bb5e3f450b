"""A launcher without a device: operators run with it report output shapes, and nothing is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.device.interface import Device, Event
from dali_lab.device.launcher import Launcher
from dali_lab.device.memory import Block
from dali_lab.kernels.cuda.kernel import Variant
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import DeviceError


class DryBlock(Block):
    """A block without memory."""

    __slots__ = ()

    def __init__(self, device: Device, nbytes: int = 0) -> None:
        self.device = device
        self.address = 0
        self.nbytes = nbytes

    def __del__(self) -> None:
        """Nothing to give back."""


class DryLauncher(Launcher):
    """Accepts all calls of a launcher and does nothing.

    Parameters
    ----------
    device
        The device that the work would run on.

    Raises
    ------
    DeviceError
        From calls that would have to wait for results.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.launches = 0
        self.uploads = 0
        self.culprit = ""

    def batch(
        self, shapes: npt.ArrayLike, dtype: DALIDataType, layout: str = "", groups: npt.NDArray[np.int64] | None = None
    ) -> Batch:
        table = np.asarray(shapes, np.int64)
        if table.ndim != 2:
            table = table.reshape(len(table), -1)
        return Batch(np.zeros(len(table), np.int64), table, dtype, layout, (DryBlock(self.device),))

    def scratch(self, nbytes: int) -> Block:
        return DryBlock(self.device, nbytes)

    def constant(self, values: npt.NDArray[Any]) -> int:
        return 0

    def launch(self, variant: Variant, table: npt.NDArray[Any], param: npt.NDArray[Any], most: int) -> None:
        self.launches += 1

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Nothing."""

    def upload(self, batch: Batch) -> Batch:
        return self.batch(batch.shapes, batch.dtype, batch.layout)

    def use(self, batch: Batch) -> None:
        """Nothing."""

    def keep(self, thing: object) -> None:
        """Nothing."""

    def then(self, work: Callable[[], None]) -> None:
        """Nothing."""

    def afterwards(self, work: Callable[[Event], None]) -> None:
        """Nothing."""

    def time(self, name: str) -> None:
        """Nothing."""

    def issue(self) -> Event:
        raise DeviceError("nothing is computed here that could be waited for")
