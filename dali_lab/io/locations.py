"""Paths and URLs: telling them apart, joining them, and keeping secrets out of what is shown and saved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+(::[A-Za-z][A-Za-z0-9+.\-]+)*://")
_WEB = re.compile(r"(?i)https?://")
_QUOTED = str.maketrans({"%": "%25", "#": "%23", "?": "%3F"})
_FILE = re.compile(r"(?i)(file|local)://(localhost(?=/))?")
_USER = re.compile(r"(?i)(\b[a-z][a-z0-9+.\-]+://)[^/?#\s'\"]*@")
_SECRET = re.compile(
    r"(?i)([?&#](?:x-(?:amz|goog)-(?:signature|credential|security-token)|awsaccesskeyid|googleaccessid|key-pair-id|"
    r"signature|sig|policy|key|jwt|[a-z0-9_.\-]*(?:token|secret|password|passwd|pwd|credentials?|auth|"
    r"(?:api|access|account|subscription)[_\-]?key))=)[^&#\s'\"]+"
)
_ACCOUNT_IN_USER = re.compile(r"(?i)(abfss?|wasbs?)://")
"""Schemes of Azure in which the part before ``@`` is the container, and no user."""


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a URL that leads away from the file system; ``file://`` does not."""
    text = os.fspath(path)
    return isinstance(text, str) and "://" in text and _REMOTE.match(text) is not None and _FILE.match(text) is None


def canonical(path: str) -> str:
    """A path as it is opened: ``file://`` is taken off, and the scheme of a URL has small letters."""
    found = _FILE.match(path)
    if found:
        rest = unquote(path[found.end() :])
        return rest[1:] if os.name == "nt" and re.match(r"/[A-Za-z]:", rest) else rest
    if is_remote(path):
        scheme, separator, rest = path.partition("://")
        return scheme.lower() + separator + rest
    return path


def without_end(folder: str) -> str:
    """The URL of a folder, in its canonical form, without slashes at its end."""
    scheme, mark, rest = canonical(folder).partition("://")
    return scheme + mark + rest.rstrip("/")


def join(root: str, name: str) -> str:
    """`name`, as folders list it, in the folder `root`; an absolute name and a URL stand for themselves."""
    if not root or ("://" in name and (is_remote(name) or _FILE.match(name))):
        return name
    if is_remote(root):
        if name.startswith("/"):
            return name
        folder = without_end(root)
        name = name.translate(_QUOTED) if _WEB.match(root) else name
        return f"{folder}{'' if folder.endswith('://') else '/'}{name}"
    if "://" in root:
        root = canonical(root)
    if name.startswith(os.sep) or (os.name == "nt" and os.path.isabs(name)):
        return name
    return root + name if root.endswith(os.sep) else f"{root}{os.sep}{name}"


def join_all(root: str, names: Iterable[str]) -> list[str]:
    """Each of many names in the folder `root`, as :func:`join` gives it."""
    start = join(root, "")
    if not root or "://" in start or os.name == "nt":
        return [join(root, name) for name in names]
    return [join(root, name) if "://" in name or name.startswith(os.sep) else start + name for name in names]


def folder_of(path: str) -> str:
    """The folder that a file is in."""
    return path.rpartition("/")[0] if is_remote(path) else os.path.dirname(path)


def shown(text: str) -> str:
    """A text without the secrets of URLs in it: no user, no password, no signature."""
    if "://" not in text:
        return text
    return _SECRET.sub(r"\1…", _USER.sub(_without_user, text))


def _without_user(found: re.Match[str]) -> str:
    return found[0] if _ACCOUNT_IN_USER.match(found[1]) else found[1]


def credentials_in(text: str) -> str:
    """The kind of credentials that a URL has in it, in words; empty where there are none."""
    if "://" not in text:
        return ""
    user = _USER.search(text)
    if user and not _ACCOUNT_IN_USER.match(user[1]):
        return "a user or password before '@'"
    found = _SECRET.search(text)
    return f"'{found[1][1:-1]}' in its query" if found else ""


def bucket_and_key(url: str) -> tuple[str, str, str]:
    """Scheme, bucket (or server) and the path in it, decoded where the scheme encodes its paths."""
    scheme, _, rest = url.partition("://")
    if scheme in ("http", "https"):
        parts = urlsplit(url)
        return scheme, parts.netloc, unquote(parts.path).lstrip("/")
    bucket, _, key = rest.partition("/")
    return scheme, bucket, key
