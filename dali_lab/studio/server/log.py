"""The server's log, which clients must not fill: few lines of a kind, short ones, and no control characters."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Hashable

from dali_lab.model.short_text import printable

SECONDS = 10.0
"""Between two lines of a kind."""
LONGEST = 500
"""Characters of a line that a client's request made another library write."""
_QUERY = re.compile(r"\?[^\s'\"]+")
_LIBRARIES = ("asyncio", "tornado")


class Kinds:
    """Kinds of lines, each of which is written once in a while.

    Parameters
    ----------
    clock
        Seconds that pass.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[Hashable, float] = {}

    def due(self, kind: Hashable) -> bool:
        """Whether a line of this kind may be written now; it counts as written."""
        now = self._clock()
        if now - self._last.get(kind, -SECONDS) < SECONDS:
            return False
        self._last[kind] = now
        return True


class LibraryLog(logging.Filter):
    """Shortens what the server's libraries log, and leaves out what the same place in them logged a moment ago.

    They write whole messages of clients with a traceback for each, which fills a disk in hours.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds = Kinds()
        self._loggers: list[logging.Logger] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written; a long one is shortened."""
        if not self._kinds.due((record.pathname, record.lineno)):
            return False
        record.msg, record.args = _short(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            record.msg += f" ({type(error).__name__}: {_short(str(error))})"
        record.exc_info = record.exc_text = record.stack_info = None
        return True

    def install(self) -> None:
        """Begin: with all loggers of these libraries, as each asks only its own filters."""
        known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LIBRARIES]
        self._loggers = [logging.getLogger(name) for name in known]
        for logger in self._loggers:
            logger.addFilter(self)

    def remove(self) -> None:
        """End."""
        for logger in self._loggers:
            logger.removeFilter(self)


def _short(text: str) -> str:
    # A message may have 32 MiB, of which the beginning is enough. Addresses are told without what follows a question
    # mark, which may be the token.
    return printable(_QUERY.sub("?…", text[: 4 * LONGEST]), LONGEST)
