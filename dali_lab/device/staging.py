"""Pinned host memory, lent to copies and given back when they have run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dali_lab.device.interface import Bytes, Device, Event

_SMALLEST = 128 << 10


class Staging:
    """A slot of pinned memory.

    Attributes
    ----------
    data
        ``uint8[nbytes]``.
    """

    def __init__(self, device: Device, slot: Bytes, nbytes: int) -> None:
        self._device = device
        self._slot = slot
        self.data = slot[:nbytes]

    @classmethod
    def borrow(cls, device: Device, nbytes: int) -> Staging:
        """A slot that no copy uses any more, or a new one."""
        size = max(_SMALLEST, 1 << max(0, nbytes - 1).bit_length())
        with device.slots_lock:
            slots = device.slots
            for index, (event, slot) in enumerate(slots):
                if slot.nbytes == size and event.done():
                    del slots[index]
                    return cls(device, slot, nbytes)
        return cls(device, device.pinned(size), nbytes)

    def give_back(self, event: Event) -> None:
        """Let the slot be used again after an event."""
        with self._device.slots_lock:
            slots = self._device.slots
            slots.append((event, self._slot))
            if len(slots) > 64:  # sizes that are no longer asked for
                for index, (done, _) in enumerate(slots):
                    if done.done():
                        del slots[index]
                        break
