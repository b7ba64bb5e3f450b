"""Long work on a document for a client: its inputs, and events of its progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dali_lab.io.roots import Roots
from dali_lab.studio.document.validation import CheckedDocument
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.values import Wire

_EVERY = 0.1


@dataclass
class Work:
    """Long work on a document.

    Attributes
    ----------
    checked
        The document.
    roots
        The folders that it may use.
    seed
        Seed of the pipeline.
    token
        Stops it.
    tell
        Sends an event.
    """

    checked: CheckedDocument
    roots: Roots
    seed: int
    token: Token
    tell: Callable[[Wire], None]
    _told: float = field(default_factory=time.monotonic)

    def progress(self, event: Wire) -> None:
        """Send an event of the progress, ten times a second at most.

        Raises
        ------
        Cancelled
            If the token was used.
        """
        self.token.check()
        if time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            self.tell(event)
