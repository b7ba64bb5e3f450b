"""Access to the app: its token, the cookie that stands for the token, and the names under which it answers."""

from __future__ import annotations

import functools
import hashlib
import hmac
import re
import secrets
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from dali_lab.model.errors import DaliLabError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
SHORTEST_TOKEN = 8
_LONG_TOKEN = 32
"""Length from which nobody guesses a token."""
_PREFIX = re.compile(r"(?!\.\.?(/|$))[\w.~%@:+-]*(/(?!\.\.?(/|$))[\w.~%@:+-]+)*", re.ASCII)


def _drawn() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Access:
    """The app's key and the addresses that it answers at.

    Attributes
    ----------
    token
        Opens the app; drawn at random if it is not given.
    prefix
        Path before all addresses, where a proxy shows the app under one: ``"/user/me/dali"``; else empty.
    names
        Host names besides the machine's own: those of a proxy in front. With a port, only that port's pages are the
        app's own.
    certificate, private_key
        Files in PEM format for TLS; without a certificate the app speaks plain HTTP.
    """

    token: str = field(default_factory=_drawn, repr=False)
    prefix: str = ""
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    private_key: Path | None = None

    def __post_init__(self) -> None:
        if len(self.token) < SHORTEST_TOKEN or not self.token.isascii() or not self.token.isprintable():
            raise DaliLabError(
                f"a token has at least {SHORTEST_TOKEN} letters, digits and signs of ASCII", argument="token"
            )
        prefix = self.prefix.strip("/")
        if not _PREFIX.fullmatch(prefix):
            raise DaliLabError(
                f"'{self.prefix}' is no path of an address: write it as a browser shows it, such as /user/me/dali",
                argument="prefix",
            )
        object.__setattr__(self, "prefix", f"/{prefix}" if prefix else "")

    def opens(self, token: str) -> bool:
        """Whether this is the token; takes the same time for every wrong one."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def admits(self, cookie: str, port: int) -> bool:
        """Whether this is the value of the cookie of a port; takes the same time for every wrong one."""
        return hmac.compare_digest(cookie.encode("utf-8", "replace"), self.cookie(port).encode())

    def cookie(self, port: int) -> str:
        """Value of the cookie of a port that the server listens on: the token cannot be told from it."""
        return self.derived(f"cookie of port {port}")

    def derived(self, purpose: str) -> str:
        """A secret for one purpose; the same as long as the token is the same."""
        return hmac.new(self._key, purpose.encode(), hashlib.sha256).hexdigest()

    @functools.cached_property
    def _key(self) -> bytes:
        token = self.token.encode()
        if len(token) >= _LONG_TOKEN:
            return token
        # Programs on other ports of this host may see the cookie: each guess of a password by it has to take long.
        return hashlib.scrypt(token, salt=b"dali-lab app", n=1 << 14, r=8, p=1)

    def tls(self) -> ssl.SSLContext | None:
        """The TLS context, or `None` for plain HTTP.

        Raises
        ------
        DaliLabError
            If the certificate or its key cannot be used.
        """
        if self.certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.private_key)
        except OSError as error:
            reason = error.strerror or str(error)
            raise DaliLabError(f"the certificate {self.certificate} cannot be used: {reason}") from error
        return context


def host_names(host: str, names: tuple[str, ...] = ()) -> frozenset[str]:
    """Host names in the addresses of the server's pages; with any port, as tunnels and proxies have ports of their own.

    Parameters
    ----------
    host
        The address that it listens on; for all of the machine's, each of them and the machine's name is in the answer.
    names
        Names of proxies, with or without ports.
    """
    own = {host.lower()} - {*EVERYWHERE}
    if host in LOOPBACK or host in EVERYWHERE:
        own |= {*LOOPBACK}
    if host not in LOOPBACK:
        own |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    if host in EVERYWHERE:
        with suppress(OSError):
            own |= {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)}
    return frozenset(own | {parts[0] for name in names if (parts := split_host(name))})


def split_host(text: str) -> tuple[str, int | None] | None:
    """Host and port of ``HOST[:PORT]``, as headers have it; `None` if it is none."""
    try:
        parts = urlsplit(f"//{text.strip()}")
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    plain = name and not (parts.path or parts.query or parts.fragment or parts.username)
    return (str(name), port) if plain else None
