"""Consent to run code: one-time numbers, each given to one connection for exactly one piece of code."""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
import time
from collections import OrderedDict

from dali_lab.model.short_text import printable

LOG = logging.getLogger("dali_lab.app")
SECONDS = 900.0
"""Seconds for which a number can be used."""
_MOST_NUMBERS = 16
_MOST_LOGGED = 100


def digest(*parts: str) -> bytes:
    """A digest of all parts, in their order."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "big") + data)
    return found.digest()


class Consents:
    """The numbers that one connection was given and has not used yet.

    A number is used up by the first request that comes with it, whether it is accepted or refused.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._logged = 0

    def ask(self, code: bytes) -> str:
        """A new number, for the code with this digest; the oldest one goes where there are too many."""
        number = secrets.token_urlsafe(24)
        with self._lock:
            self._open[number] = code, time.monotonic() + SECONDS
            while len(self._open) > _MOST_NUMBERS:
                self._open.popitem(last=False)
        return number

    def use(self, number: object, code: bytes, name: str) -> str | None:
        """Use up a number.

        Parameters
        ----------
        number
            The number from the client, of any type.
        code
            Digest of the code that is about to run.
        name
            Name of this code, for the log.

        Returns
        -------
        str or None
            Why the code may not run, or `None` if it may.
        """
        with self._lock:
            meant, end = self._open.pop(number, (b"", 0.0)) if isinstance(number, str) else (b"", 0.0)
        if not meant:
            return self._refused("the session did not give this consent out, or it was used before", name)
        if time.monotonic() > end:
            return self._refused("the consent is too old", name)
        if not secrets.compare_digest(meant, code):
            return self._refused("the code has changed since it was shown", name)
        return None

    def _refused(self, reason: str, name: str) -> str:
        with self._lock:
            self._logged += 1
            logged = self._logged
        if logged <= _MOST_LOGGED:
            more = "; further ones of this connection are not logged" if logged == _MOST_LOGGED else ""
            LOG.warning("refused to run %s: %s%s", printable(name, 200), reason, more)
        return reason
