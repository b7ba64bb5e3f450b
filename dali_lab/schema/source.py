"""Sources: what decides, batch after batch, which samples a node without inputs gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Draw:
    """The decision of a source about one batch.

    Attributes
    ----------
    count
        Number of samples in the batch.
    ticket
        Anything; each call of the batch sees it.
    """

    count: int
    ticket: Any = None
