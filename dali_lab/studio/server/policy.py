"""Headers of every answer: what a page may load and run, and who may show it in a frame."""

from __future__ import annotations

import re
import secrets

from tornado import httputil, web

_SCRIPT = re.compile(rb"<script(?=[\s>])", re.IGNORECASE)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def policy(nonce: str, host: str) -> str:
    """A content security policy.

    Parameters
    ----------
    nonce
        Marks the inline scripts of the page; others do not run.
    host
        The page's host and port, which its websocket goes to.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            # React Flow puts style sheets and styles of elements into the page.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "media-src data: blob:",
            "font-src 'self' data:",
            f"connect-src 'self' ws://{host} wss://{host}",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        ]
    )


class SecurityHeaders(web.OutputTransform):
    """Adds the headers to an answer, and the nonce of the policy to the scripts of a page."""

    def __init__(self, request: httputil.HTTPServerRequest) -> None:
        self._host = request.host

    def transform_first_chunk(
        self, status_code: int, headers: httputil.HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, httputil.HTTPHeaders, bytes]:
        """Add the headers; a page comes as one chunk."""
        nonce = secrets.token_urlsafe(16)
        if headers.get("Content-Type", "").startswith("text/html"):
            chunk = _SCRIPT.sub(f'<script nonce="{nonce}"'.encode(), chunk)
            if "Content-Length" in headers:
                headers["Content-Length"] = str(len(chunk))
        for name, value in _HEADERS.items():
            headers[name] = value
        headers["Content-Security-Policy"] = policy(nonce, self._host)
        headers.pop("Server", None)  # the versions of libraries are nobody's business
        return status_code, headers, chunk
