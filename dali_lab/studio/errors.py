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


def sentence(text: str) -> str:
    """`text` with a capital letter and a full stop."""
    text = text.strip()
    if not text:
        return text
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
