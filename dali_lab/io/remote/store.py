"""The protocol of stores, and their errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from threading import Semaphore
from typing import NamedTuple, Protocol

from dali_lab.io.locations import shown


class Kind(Enum):
    """The cause of an error of a store; only the first two are worth another try."""

    PASSING = "passing"
    EXPIRED = "expired"
    MISSING = "missing"
    DENIED = "denied"
    CHANGED = "changed"
    WRONG = "wrong"


class StoreError(OSError):
    """A request that failed.

    Attributes
    ----------
    kind
        The cause, for programs.
    strerror
        The cause in words, without secrets.
    """

    def __init__(self, kind: Kind, reason: str) -> None:
        self.kind = kind
        super().__init__(0, shown(reason))

    @property
    def missing(self) -> bool:
        """Whether there is no such object."""
        return self.kind is Kind.MISSING

    def __str__(self) -> str:
        return str(self.strerror)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.kind, str(self.strerror))


class Unchanged(Exception):
    """The object is still the version that the caller has."""


class Info(NamedTuple):
    """Size and version of an object.

    Attributes
    ----------
    size
        In bytes.
    version
        Changes whenever the content does: the store's tag, or else the time of the last change.
    """

    size: int
    version: str


def is_page(data: memoryview) -> bool:
    """Whether an answer is a web page, such as one to sign in at, which networks send instead of any file."""
    return bytes(data[:32]).lstrip().lower().startswith((b"<!doctype html", b"<html"))


class Found(NamedTuple):
    """An entry of a listing.

    Attributes
    ----------
    name
        Its name in the folder.
    is_folder
        Whether it is a folder.
    size
        In bytes; −1 where the store does not say it.
    """

    name: str
    is_folder: bool
    size: int = -1


class Store(Protocol):
    """One bucket, container or server. Methods block, and are called from many threads; each is one attempt.

    All raise :class:`StoreError`.
    """

    def info(self, key: str) -> Info:
        """Size and version of an object."""
        ...

    def small(
        self, wanted: Sequence[tuple[str, int, int]], slots: Semaphore
    ) -> Iterator[tuple[int, tuple[memoryview, Info] | None]]:
        """Small objects and parts, requested together, and what the objects are, each with its index, as they come.

        `None` stands for one that is left to :meth:`get`.

        Parameters
        ----------
        wanted
            Key, start and count of each, as of :meth:`get`.
        slots
            One is held for each request.
        """
        ...

    def get(self, key: str, start: int, count: int, unless: str = "") -> tuple[memoryview, Info]:
        """Bytes of an object and what it is.

        Parameters
        ----------
        start, count
            The range to read; a count of −1 reads to the end. Less is returned where the object ends earlier.
        unless
            Version of the object that the caller has; raises :class:`Unchanged` if it is still that one.
        """
        ...

    def folder(self, key: str, flat: bool = False, after: Found | None = None) -> Iterator[list[Found]]:
        """The entries of a folder, page by page.

        Parameters
        ----------
        flat
            Few folders are expected in it.
        after
            The last entry of a page that came, to go on behind it; stores that give one page are not asked so.
        """
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write an object whole."""
        ...

    def remove(self, key: str) -> None:
        """Remove an object; one that is not there is no error."""
        ...

    def renew(self) -> None:
        """Fetch credentials anew at the next request."""
        ...
