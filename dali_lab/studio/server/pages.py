"""Addresses of the app: its pages, the editor's script, and the documentation."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Generator
from typing import Any

from tornado.web import RequestHandler, StaticFileHandler

from dali_lab.model.documentation import pages_folder
from dali_lab.studio.bundle import BUNDLE, version
from dali_lab.studio.session import Session

PAGES = {"/": "editor", "/gallery": "gallery"}
"""The view that each page shows first."""
EDITOR = "/static/editor.js"
DOCUMENTATION = "/documentation/"
ICON = BUNDLE.parents[1] / "icon.svg"
Route = tuple[str, type[RequestHandler], dict[str, Any]]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="icon" href="{icon}">
<style>html, body {{ height: 100%; margin: 0; overflow: hidden; color-scheme: light dark }}</style>
</head>
<body>
<script type="module">import {{ showPage }} from "./static/editor.js?v={version}";
showPage(document.body, {options});</script>
</body>
</html>
"""


class Page(RequestHandler):
    """A page with the editor; its addresses begin where it lies, as a proxy may have put it anywhere."""

    def initialize(self, session: Session, title: str, view: str) -> None:
        """Take the session behind the page, its title, and what it shows first."""
        self._session = session
        self._title = title
        self._view = view

    def get(self) -> None:
        """Answer with the page."""
        if self._view == "gallery":
            self._session.gallery_page.load()
        self.set_header("Cache-Control", "no-store")
        options = json.dumps({"view": self._view})
        self.finish(_PAGE.format(title=html.escape(self._title), icon=icon(), version=version(), options=options))

    head = get


class DocumentationHandler(StaticFileHandler):
    """Serves the pages that `dali-lab docs` built.

    The headers of an answer name the nonce in its text, so a page is sent in one piece and never taken from a cache.
    """

    @classmethod
    def get_content(
        cls, abspath: str, start: int | None = None, end: int | None = None
    ) -> Generator[bytes, None, None]:
        """The content of a file in one piece."""
        yield b"".join(super().get_content(abspath, start, end))

    def should_return_304(self) -> bool:
        """Whether a browser may show the page that it has."""
        return not (self.absolute_path or "").endswith(".html") and super().should_return_304()


def page_routes(session: Session, title: str) -> list[Route]:
    """The routes of the pages, of the editor's script, and of the documentation once `dali-lab docs` has built it."""
    titles = {"editor": title, "gallery": f"{title}: gallery"}
    return [
        *((path, Page, {"session": session, "title": titles[view], "view": view}) for path, view in PAGES.items()),
        (r"/static/(editor\.js)", StaticFileHandler, {"path": str(BUNDLE.parent)}),
        (
            f"{DOCUMENTATION}(.*)",
            DocumentationHandler,
            {"path": str(pages_folder()), "default_filename": "index.html"},
        ),
    ]


def icon() -> str:
    """The icon as a data URL."""
    return "data:image/svg+xml;base64," + base64.b64encode(ICON.read_bytes()).decode("ascii")
