"""The gallery's requests, which its own thread answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dali_lab.studio.requests.request import Request

if TYPE_CHECKING:
    from dali_lab.studio.session import Session


def ask(session: Session, request: Request) -> None:
    """Hand a request to the gallery."""
    session.gallery_page.ask(request.method, request.params, request.answer, request.fail)
