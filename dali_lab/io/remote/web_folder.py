"""Folders of web servers: the entries that the page of a folder links to."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from dali_lab.io.remote.store import Found, Kind, StoreError


def page(address: str, timeout: float) -> bytes:
    """The page of a folder. Servers make it as they send it, without a length, which the library of stores needs.

    Raises
    ------
    StoreError
        If there is none.
    """
    url = urlsplit(address)
    # A server and a path of http or https alone: no other scheme of the library can be meant.
    request = urllib.request.Request(f"{url.scheme}://{url.netloc}{url.path}")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        if error.code in (404, 410):
            raise StoreError(Kind.MISSING, "it does not exist") from None
        if error.code in (401, 403):
            raise StoreError(Kind.DENIED, f"the server does not list it (status {error.code})") from None
        kind = Kind.PASSING if error.code >= 500 or error.code in (408, 429) else Kind.WRONG
        raise StoreError(kind, f"the server answers with status {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        raise StoreError(Kind.PASSING, f"{url.scheme}://{url.netloc}: {getattr(error, 'reason', error)}") from None


def links(page: bytes, address: str) -> list[Found]:
    """The entries that lie directly in a folder, by the links on its page.

    Parameters
    ----------
    page
        The page, as servers make it for a folder.
    address
        URL of the folder, with a slash at its end.
    """
    reader = _Links()
    reader.feed(page.decode("utf-8", "replace"))
    folder = urlsplit(address)
    beginning = unquote(folder.path)
    found: dict[str, bool] = {}
    for target in reader.targets:
        place = urlsplit(urljoin(address, target))
        path = unquote(place.path)
        if place.netloc != folder.netloc or place.query or not path.startswith(beginning):
            continue
        name = path[len(beginning) :]
        is_folder = name.endswith("/")
        name = name.rstrip("/")
        if name and "/" not in name:
            found[name] = is_folder
    return [Found(name, is_folder) for name, is_folder in found.items()]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.targets += [value for name, value in attrs if name == "href" and value]
