"""Addresses of the app: its pages, their websockets, and the scripts and styles that they load; no others answer."""

from __future__ import annotations

import re

from bokeh.server.tornado import BokehTornado
from bokeh.server.views.doc_handler import DocHandler
from bokeh.server.views.multi_root_static_handler import MultiRootStaticHandler
from bokeh.server.views.static_handler import StaticHandler
from bokeh.server.views.ws import WSHandler
from tornado.web import StaticFileHandler

from dali_lab.studio.bundle import BUNDLE

EDITOR = "/components/dali_lab.studio.panel_editor/DaliLabEditor/_bundle_path/static/"
"""Path that a page imports the editor's script from; Panel makes it."""
_NEEDED = (DocHandler, WSHandler, StaticHandler, MultiRootStaticHandler)


def editor_route() -> tuple[str, type[StaticFileHandler], dict[str, str]]:
    """The route of the editor's script alone.

    Panel's own handler of such addresses imports every Python module that is named in one.
    """
    return f"{re.escape(EDITOR)}({re.escape(BUNDLE.name)})", StaticFileHandler, {"path": str(BUNDLE.parent)}


def remove_unneeded_routes(application: BokehTornado) -> None:
    """Take away what Bokeh offers to other servers' pages: scripts that embed a page, and its description."""
    rules = application.wildcard_router.rules
    rules[:] = [
        rule
        for rule in rules
        if isinstance(rule.target, type) and issubclass(rule.target, (*_NEEDED, StaticFileHandler))
    ]
