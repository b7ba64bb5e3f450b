"""Errors of documents and requests, with a code for the editor."""

from __future__ import annotations

from dali_lab.model.errors import DaliLabError


class DocumentError(DaliLabError, ValueError):
    """An unusable document, or an invalid request.

    Attributes
    ----------
    code
        The protocol's word for it: ``"unreadable"``, ``"newer_version"``, ``"failed"`` and so on.
    extra
        Further fields of the :class:`~dali_lab.studio.protocol.values.SessionError` that the editor gets.
    """

    def __init__(self, message: str, code: str = "failed", **extra: object) -> None:
        self.extra = extra
        super().__init__(message, code=code)


_PREDICATES = frozenset({"must", "takes", "is", "needs", "excludes", "goes", "has", "was"})
"""First words of messages about an argument that leave it to their reader to put its name before them."""


def about(message: str, argument: str | None) -> str:
    """A message as a sentence that names the argument that it is about."""
    first, *rest = message.split(maxsplit=2) or [""]
    lacks_subject = first in _PREDICATES or (first == "cannot" and rest[:1] == ["be"])
    return sentence(f"'{argument}' {message}" if argument and lacks_subject else message)


def sentence(text: str) -> str:
    """`text` with a capital letter and a full stop."""
    text = text.strip()
    if not text:
        return text
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
