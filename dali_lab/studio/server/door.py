"""The door of the app: every request passes it, pages, scripts and websockets alike, before anything answers."""

from __future__ import annotations

import asyncio
import html
import logging
from collections.abc import Callable

from tornado import httputil, web
from tornado.routing import Router

from dali_lab.studio.server.access import Access, host_names, split_host
from dali_lab.studio.server.log import Kinds
from dali_lab.studio.server.pages import PAGES
from dali_lab.studio.server.sockets import SOCKET, Sockets

LOG = logging.getLogger("dali_lab.app")
ENTER = "/enter"
"""Path that the form of the refusal sends a token to."""
MOST_TABS = 64
"""Pages that are open at once."""
_WRONG_SECONDS = 1.0
_MOST_WRONG = 32

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>DALI Lab</title>
<link rel="icon" href="data:,">{head}
<style>body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 34em; margin: 12vh auto; padding: 0 16px;
color-scheme: light dark }} input, button {{ font: inherit; padding: 4px 8px }}</style>
{body}
"""
_FORM = """<h1>DALI Lab</h1><p role="alert">{reason}</p>
<form method="post" action="{action}"><label>Token or password <input type="password" name="token" autofocus
autocomplete="current-password"></label> <button>Open</button></form>
<p>The token is in the address that <code>dali-lab app</code> prints where it was started.</p>"""


class Door(Router):
    """Lets requests with the token or its cookie through to an application, and refuses all others.

    Parameters
    ----------
    application
        What is behind the door.
    access
        The token and the cookie.
    sockets
        The websockets of the pages that are open.
    host, port
        Where the server listens.

    Attributes
    ----------
    on_admitted
        Called with each request that is let through.
    """

    def __init__(self, application: web.Application, access: Access, sockets: Sockets, host: str, port: int) -> None:
        self.application = application
        self.access = access
        self._sockets = sockets
        self.port = port
        self.names = host_names(host, access.names)
        self.proxies = [parts for name in access.names if (parts := split_host(name))]
        self.on_admitted: Callable[[httputil.HTTPServerRequest], None] = lambda request: None
        self.wrong = 0
        self.logged = Kinds()

    def find_handler(self, request: httputil.HTTPServerRequest, **options: object) -> httputil.HTTPMessageDelegate:
        """The handler of a request: the application, or a refusal."""
        moved = self._without_prefix(request)
        if (reason := self._foreign(request)) is not None:
            return self._refuse(request, reason, ask=False)
        if "%00" in request.path or "\0" in request.path:
            return self._refuse(request, "There is no such page.", status=404, ask=False)
        if request.path == ENTER or (request.method == "GET" and "token" in request.query_arguments):
            return self._handler(request, _Enter)
        if not self._admitted(request):
            # Browsers send the cookie to addresses below the prefix alone.
            return self._refuse(request, "This page needs the token of the app.", forward=moved)
        if moved:
            return self._handler(request, _Moved)
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            return self._refuse(request, "There is nothing to send to.", ask=False)
        if request.path in (*PAGES, SOCKET) and len(self._sockets.open) >= MOST_TABS:
            return self._refuse(request, "Too many pages are open: close some.", status=503, ask=False)
        self.on_admitted(request)
        return self.application.find_handler(request, **options)

    def log(self, kind: str, message: str) -> None:
        """Write a line to the log, at most one of a kind in ten seconds: garbage must not fill a disk."""
        if self.logged.due(kind):
            LOG.warning("%s", message)

    def _without_prefix(self, request: httputil.HTTPServerRequest) -> bool:
        """Take the prefix off a request's path, as some proxies do themselves; whether its last slash is missing."""
        prefix = self.access.prefix
        if not prefix or not f"{request.path}/".startswith(f"{prefix}/"):
            return False
        request.path = request.path[len(prefix) :]
        return not request.path

    def _foreign(self, request: httputil.HTTPServerRequest) -> str | None:
        """Why a request is none to this server from one of its own pages; `None` if it may be one."""
        # Tornado makes up a host where a request of HTTP/1.0 names none.
        host = split_host(request.headers.get("Host", ""))
        if host is None or host[0] not in self.names:
            return "The app does not answer under this host name: allow it with --allow-host."
        origin = request.headers.get("Origin")
        if origin is not None and not self._same_origin(origin, host):
            return "The app answers to its own pages alone."
        site = request.headers.get("Sec-Fetch-Site", "none")
        # Links lead here from anywhere, with the token in them; scripts and pictures of other pages have no business.
        if site not in ("none", "same-origin") and request.headers.get("Sec-Fetch-Mode") != "navigate":
            return "The app answers to its own pages alone."
        return None

    def _same_origin(self, origin: str, host: tuple[str, int | None]) -> bool:
        """Whether an Origin header names this server, or a proxy that was allowed, which may change the Host header."""
        scheme, _, rest = origin.partition("://")
        usual = {"http": 80, "https": 443}.get(scheme)
        found = split_host(rest)
        if found is None or usual is None:
            return False
        ports = (found[1] or usual, host[1] or usual)
        return (found[0] == host[0] and ports[0] == ports[1]) or any(
            found[0] == name and port in (None, ports[0]) for name, port in self.proxies
        )

    def _admitted(self, request: httputil.HTTPServerRequest) -> bool:
        """Whether a request has the cookie, maybe among others of its name, which any port of the host can set."""
        pairs = (part.partition("=") for part in request.headers.get("Cookie", "").split(";"))
        own = self.cookie_name(request)
        return any(self.access.admits(value.strip(), self.port) for name, _, value in pairs if name.strip() == own)

    def cookie_name(self, request: httputil.HTTPServerRequest) -> str:
        """Name of the cookie: browsers send a host's cookies to all of its ports, so that each has its own."""
        host = split_host(request.host)
        return f"dali-lab-{(host and host[1]) or self.port}"

    def _refuse(
        self,
        request: httputil.HTTPServerRequest,
        reason: str,
        *,
        status: int = 403,
        ask: bool = True,
        forward: bool = False,
    ) -> httputil.HTTPMessageDelegate:
        self.log(reason, f"refused {request.method} {request.path[:200]!r} from {request.remote_ip}: {reason}")
        return self._handler(request, _Refused, reason=reason, status=status, ask=ask, forward=forward)

    def _handler(
        self, request: httputil.HTTPServerRequest, kind: type[_Answer], **options: object
    ) -> httputil.HTTPMessageDelegate:
        return self.application.get_handler_delegate(request, kind, {"door": self, **options})


class _Answer(web.RequestHandler):
    """An answer of the door itself."""

    def initialize(self, door: Door) -> None:
        self.door = door

    def page(self, body: str, head: str = "") -> None:
        """Answer with a page of a few words."""
        self.set_header("Cache-Control", "no-store")
        self.finish(_PAGE.format(head=head, body=body))

    def refuse(self, reason: str, status: int = 403, *, ask: bool = True, forward: bool = False) -> None:
        """Say why nothing is opened; with a form for the token where one helps, and forward to the first page."""
        self.set_status(status)
        prefix = self.door.access.prefix
        head = f'<meta http-equiv="refresh" content="0;url={prefix}/">' if forward else ""
        if ask:
            self.page(_FORM.format(reason=html.escape(reason), action=prefix + ENTER), head)
        else:
            self.page(f'<h1>DALI Lab</h1><p role="alert">{html.escape(reason)}</p>')


class _Refused(_Answer):
    def initialize(
        self, door: Door, reason: str = "", status: int = 403, ask: bool = True, forward: bool = False
    ) -> None:
        super().initialize(door)
        self._refusal = reason, status, ask, forward

    def prepare(self) -> None:
        """Refuse, whatever the method is."""
        reason, status, ask, forward = self._refusal
        self.refuse(reason, status, ask=ask, forward=forward)


class _Moved(_Answer):
    def prepare(self) -> None:
        """Add the slash after the prefix: addresses in the page begin there."""
        query = f"?{self.request.query}" if self.request.query else ""
        self.redirect(f"{self.door.access.prefix}/{query}")


class _Enter(_Answer):
    """Takes a token from the address or from the form, and gives a cookie for it."""

    async def get(self) -> None:
        """Take the token from the address; the page goes on without it."""
        await self._enter(self.request.path, self.request.query_arguments)

    async def post(self) -> None:
        """Take the token that somebody typed."""
        await self._enter("/", self.request.body_arguments)

    async def _enter(self, path: str, arguments: dict[str, list[bytes]]) -> None:
        door = self.door
        # Not by Tornado's own method, which writes tokens that are no text to the log.
        token = arguments.get("token", [b""])[-1].decode("utf-8", "replace").strip()
        if not door.access.opens(token):
            door.log("token", f"refused a wrong token from {self.request.remote_ip}")
            await self._slow_down()
            return
        access = door.access
        secure = access.certificate is not None or self.request.headers.get("X-Forwarded-Proto") == "https"
        self.set_cookie(
            door.cookie_name(self.request),
            access.cookie(door.port),
            path=f"{access.prefix}/",
            httponly=True,
            samesite="Strict",
            secure=secure,
        )
        # No redirect: after a link from another site, browsers would follow it without the cookie.
        page = path.rstrip("/") if path.rstrip("/") in PAGES else "/"
        path = html.escape(f"{access.prefix}{page}", quote=True)
        head = f'<meta http-equiv="refresh" content="0;url={path}">'
        self.page(f'<p><a href="{path}">Open DALI Lab</a></p>', head)

    async def _slow_down(self) -> None:
        """Answer a wrong token after a while, and tell at once those who try many."""
        door = self.door
        if door.wrong >= _MOST_WRONG:
            self.refuse("Too many wrong tokens: wait a moment.", 429)
            return
        door.wrong += 1
        try:
            await asyncio.sleep(_WRONG_SECONDS)
        finally:
            door.wrong -= 1
        self.refuse("This is not the token of the app, or that of an earlier start.")
