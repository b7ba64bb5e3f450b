"""Addresses of the app: its pages, their websockets, the scripts and styles that they load, and the documentation."""

from __future__ import annotations

import re
from collections.abc import Generator

from bokeh.server.tornado import BokehTornado
from bokeh.server.views.doc_handler import DocHandler
from bokeh.server.views.multi_root_static_handler import MultiRootStaticHandler
from bokeh.server.views.static_handler import StaticHandler
from bokeh.server.views.ws import WSHandler
from tornado.web import StaticFileHandler

from dali_lab.model.documentation import pages_folder
from dali_lab.studio.bundle import BUNDLE

EDITOR = "/components/dali_lab.studio.panel_editor/DaliLabEditor/_bundle_path/static/"
"""Path that a page imports the editor's script from; Panel makes it."""
DOCUMENTATION = "/documentation/"
_NEEDED = (DocHandler, WSHandler, StaticHandler, MultiRootStaticHandler)


def editor_route() -> tuple[str, type[StaticFileHandler], dict[str, str]]:
    """The route of the editor's script alone.

    Panel's own handler of such addresses imports every Python module that is named in one.
    """
    return f"{re.escape(EDITOR)}({re.escape(BUNDLE.name)})", StaticFileHandler, {"path": str(BUNDLE.parent)}


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


def documentation_route() -> tuple[str, type[StaticFileHandler], dict[str, str]]:
    """The route of the documentation; it answers once `dali-lab docs` has built the pages."""
    return (
        f"{DOCUMENTATION}(.*)",
        DocumentationHandler,
        {"path": str(pages_folder()), "default_filename": "index.html"},
    )


def remove_unneeded_routes(application: BokehTornado) -> None:
    """Take away what Bokeh offers to other servers' pages: scripts that embed a page, and its description."""
    rules = application.wildcard_router.rules
    rules[:] = [
        rule
        for rule in rules
        if isinstance(rule.target, type) and issubclass(rule.target, (*_NEEDED, StaticFileHandler))
    ]
