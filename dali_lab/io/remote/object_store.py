"""S3, Google Cloud Storage, Azure and web servers, by obstore: its requests leave Python to itself while they wait."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from threading import Semaphore
from typing import Any, TypeVar
from urllib.parse import quote

from dali_lab.io.remote.any_store import AnyStore
from dali_lab.io.remote.small_objects import SmallObjects
from dali_lab.io.remote.store import Found, Info, Kind, StoreError, Unchanged, is_page

T = TypeVar("T")

SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "adl", "abfs", "abfss", "http", "https")
"""Schemes that are read in this way."""

_WHOLE = 16 << 20
"""Bytes up to which an object is taken from one answer."""
_PAGE = 1000
_LAST_CHARACTER = "\U0010ffff"
_EXPIRED = re.compile(
    r"ExpiredToken|TokenRefreshRequired|token (?:has|is) expired|InvalidAuthenticationToken|expired_token", re.I
)
_UNKNOWN = re.compile(r"<Code>(InvalidAccessKeyId|InvalidToken|InvalidClientTokenId)<")
_DENIALS = {
    "RequestTimeTooSkewed": "the clock of this machine is wrong",
    "SignatureDoesNotMatch": "the secret of the credentials found does not belong to their key",
    "InvalidObjectState": "it is archived and has to be restored first",
}
_STATUS = re.compile(r"status (\d{3})|(?:HTTP|code)[^\d]{0,12}(\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_MESSAGE = re.compile(r"<Message>([^<]+)</Message>")
_CERTIFICATE = re.compile(r"InvalidCertificate\(\s*(?:Other\(\s*OtherError\(\s*)?(\w+)")
_PASSING_STATUS = ("408", "425", "429", "500", "502", "503", "504")


_process: int | None = None
"""The process in which the library runs its threads; a forked child has none of them."""


class _NoRangesError(Exception):
    """The server ignores ranges."""


class _NoLengthError(Exception):
    """The server does not tell how long an answer is."""


class ObjectStore:
    """A bucket, container or server.

    Parameters
    ----------
    scheme
        One of :data:`SCHEMES`.
    bucket
        The bucket or container; for web servers host and port.
    timeout
        Seconds that one request may take.
    """

    def __init__(self, scheme: str, bucket: str, timeout: float) -> None:
        self._scheme, self._bucket, self._timeout = scheme, bucket, timeout
        self._signed = True
        # A whole file is asked for as a range: only answers to ranges tell whether they are whole.
        self._as_range = True
        self._small: SmallObjects | None = None
        self._store = self._open()

    def _open(self) -> Any:
        from obstore import store as stores

        client: Any = {
            "allow_http": True,
            "timeout": timedelta(seconds=self._timeout),
            "connect_timeout": timedelta(seconds=min(10.0, self._timeout)),
            "pool_max_idle_per_host": "256",
        }
        # Attempts are repeated by our own code, which can be asked to stop and renews credentials.
        common: Any = {"client_options": client, "retry_config": {"max_retries": 0}}
        if self._scheme in ("s3", "s3a"):
            from dali_lab.io.remote.aws import address, settings, signing

            found = settings(self._bucket)
            self._signed = "skip_signature" not in found
            server, folder = address(self._bucket, found)
            self._small = SmallObjects(server, folder, signing(found), self._timeout, _WHOLE)
            return stores.S3Store(self._bucket, **found, **common)
        if self._scheme in ("gs", "gcs"):
            found = _google_settings()
            self._signed = "skip_signature" not in found
            return stores.GCSStore(self._bucket, **found, **common)
        if self._scheme in ("az", "adl", "abfs", "abfss"):
            return stores.AzureStore.from_url(f"{self._scheme}://{self._bucket}", **common)
        self._small = SmallObjects(self._place, "/", None, self._timeout, _WHOLE)
        return stores.HTTPStore.from_url(self._place, **common)

    def renew(self) -> None:
        self._store = self._open()

    def small(
        self, wanted: Sequence[tuple[str, int, int]], slots: Semaphore
    ) -> Iterator[tuple[int, tuple[memoryview, Info] | None]]:
        _check_process()
        if self._small is None:
            return ((index, None) for index in range(len(wanted)))
        return self._small.read(wanted, slots)

    def info(self, key: str) -> Info:
        import obstore

        self._check(key)
        try:
            return self._tried(lambda: _info(obstore.head(self._store, key)))
        except _NoLengthError:
            return self._plain().info(self._url(key))

    def get(self, key: str, start: int, count: int, unless: str = "") -> tuple[memoryview, Info]:
        self._check(key)
        try:
            return self._get(key, start, count, unless)
        except _NoLengthError:
            data, info = self._plain().get(self._url(key), start, count, unless)
        self._check_content(key, start, data, data.nbytes)
        return data, info

    def _plain(self) -> AnyStore:
        """Reads from web servers that do not tell how long an answer is, which obstore refuses."""
        return AnyStore(f"{self._place}/")

    def _url(self, key: str) -> str:
        return f"{self._place}/{quote(key)}"

    def _get(self, key: str, start: int, count: int, unless: str) -> tuple[memoryview, Info]:
        import obstore

        options: Any = {}
        if unless.startswith('"'):
            options["if_none_match"] = unless
        as_range = count < 0 and self._as_range
        if count >= 0 or as_range:
            options["range"] = {"offset": 0} if as_range else (start, start + count)

        def read() -> tuple[memoryview, Info]:
            result = obstore.get(self._store, key, options=options)
            info = _info(result.meta)
            if unless and info.version == unless:
                raise Unchanged
            self._check_encoding(key, result.attributes.get("Content-Encoding") or "")
            if count < 0 and info.size > _WHOLE:
                return memoryview(b""), info
            data = memoryview(result.bytes())
            wanted = info.size if count < 0 else min(count, info.size - start)
            if result.range[0] != start:
                raise self._short(data.nbytes, wanted)
            self._check_content(key, start, data, wanted)
            return data, info

        def read_plain(size: int) -> tuple[memoryview, Info]:
            """The whole object by an answer that does not tell whether it is whole."""
            options.pop("range", None)
            data, info = self._tried(read)
            if info.size != size:
                raise self._short(info.size, size)
            return data, info

        if not count:
            return memoryview(b""), self.info(key)
        try:
            data, info = self._tried(read, "if_none_match" in options)
        except _NoRangesError:
            if not as_range:
                return self._without_ranges(key, start, count)
            data, info = read_plain(self.info(key).size)
            self._as_range = False
        except StoreError as error:
            if not as_range or error.kind is not Kind.CHANGED:
                raise
            data, info = read_plain(0)  # an empty file has no range
        if count < 0 and info.size > _WHOLE:
            return self._in_pieces(key, info), info
        return data, info

    def _short(self, count: int, wanted: int) -> StoreError:
        return StoreError(Kind.PASSING, f"{self._place} sent {count:,} bytes instead of {wanted:,}")

    def _check_content(self, key: str, start: int, data: memoryview, wanted: int) -> None:
        """Refuse an answer that is not what was asked for."""
        if data.nbytes != wanted:
            raise self._short(data.nbytes, wanted)
        if not start and is_page(data) and not key.lower().endswith(("html", "htm")):
            raise StoreError(
                Kind.PASSING,
                f"{self._place} sent a web page instead of the file: a page to sign in at may stand between",
            )

    def _check_encoding(self, key: str, encoding: str) -> None:
        """Refuse content that is compressed on its way, unless the file itself is what was compressed."""
        if encoding.lower() not in ("", "identity", "aws-chunked") and not key.lower().endswith(("gz", "br", "zst")):
            raise StoreError(
                Kind.WRONG, f"{self._place} sends it compressed (Content-Encoding: {encoding}): have it sent as it is"
            )

    def _check(self, key: str, folder: bool = False) -> None:
        """Refuse keys that the library takes for others."""
        if self._scheme in ("http", "https"):
            return
        if not key and not folder:
            raise StoreError(Kind.WRONG, "it names a bucket, and no object in it")
        if key.endswith("/") and not folder:
            raise StoreError(Kind.WRONG, "it ends with a slash, so it names a folder")
        if key.startswith("/") or "//" in key:
            raise StoreError(Kind.WRONG, "a name between two slashes of it is empty: write one slash")

    def put(self, key: str, data: bytes) -> None:
        import obstore

        self._tried(lambda: obstore.put(self._store, key, data))

    def remove(self, key: str) -> None:
        import obstore

        try:
            self._tried(lambda: obstore.delete(self._store, key))
        except StoreError as error:
            if not error.missing:
                raise

    def _without_ranges(self, key: str, start: int, count: int) -> tuple[memoryview, Info]:
        """A part of an object on a server that sends objects as a whole alone."""
        size = self.info(key).size
        if size > _WHOLE:
            raise StoreError(
                Kind.WRONG,
                f"{self._place} answers no requests for ranges, which parts of a file of {size:,} bytes take: use a"
                " server that does, such as nginx",
            )
        data, info = self.get(key, 0, -1)
        return data[start : start + count], info

    def _in_pieces(self, key: str, info: Info) -> memoryview:
        """A large object by ranges, each with the whole time limit of a request."""
        import obstore

        try:
            memory = bytearray(info.size)
        except (MemoryError, OverflowError):
            raise StoreError(Kind.WRONG, f"its {info.size:,} bytes do not fit into memory") from None
        for begin in range(0, info.size, _WHOLE):
            end = min(begin + _WHOLE, info.size)
            options: Any = {"range": (begin, end)}
            result = self._tried(functools.partial(obstore.get, self._store, key, options=options))
            if _info(result.meta) != info:
                raise StoreError(Kind.CHANGED, "it changed while it was read")
            data = memoryview(self._tried(result.bytes))
            self._check_content(key, begin, data, end - begin)
            memory[begin:end] = data
        return memoryview(memory)

    def folder(self, key: str, flat: bool = False, after: Found | None = None) -> Iterator[list[Found]]:
        if self._scheme in ("http", "https"):
            yield self._linked(key)
            return
        self._check(key, folder=True)
        prefix = f"{key.rstrip('/')}/" if key.strip("/") else ""
        yield from self._pages(prefix, flat, after)

    def _pages(self, prefix: str, flat: bool, after: Found | None) -> Iterator[list[Found]]:
        """The entries of a folder page by page; where objects lie deeper, these are passed over in few requests."""
        import obstore

        cut, folder, deep = len(prefix), "", 0
        offset = None if after is None else self._behind(prefix, after)
        while True:
            pages = iter(obstore.list(self._store, prefix or None, offset=offset, chunk_size=_PAGE))
            while (page := self._tried(functools.partial(next, pages, None))) is not None:
                if not (flat or offset) and _may_hold_many_folders(page, cut):
                    yield self._with_folders(prefix)
                    return
                flat = True
                found = []
                for meta in page:
                    name, slash, _ = meta["path"][cut:].partition("/")
                    if not name:
                        continue  # an empty object stands for the folder itself
                    if not slash:
                        found.append(Found(name, False, meta["size"]))
                    elif name != folder:
                        folder, deep = name, 1
                        found.append(Found(name, True))
                    else:
                        deep += 1
                yield found
                if deep >= _PAGE:
                    break
            if page is None:
                return
            offset, deep = self._behind(prefix, Found(folder, True)), 0

    def _behind(self, prefix: str, entry: Found) -> str:
        """The last key that may belong to an entry of a folder."""
        return f"{prefix}{entry.name}/{_LAST_CHARACTER}" if entry.is_folder else f"{prefix}{entry.name}"

    def _with_folders(self, prefix: str) -> list[Found]:
        """All entries of a folder; the store tells folders from objects, which spares listing what lies in them."""
        import obstore

        found = self._tried(lambda: obstore.list_with_delimiter(self._store, prefix or None))
        cut = len(prefix)
        return [Found(meta[cut:].rstrip("/"), True) for meta in found["common_prefixes"]] + [
            Found(meta["path"][cut:], False, meta["size"]) for meta in found["objects"] if len(meta["path"]) > cut
        ]

    def _linked(self, key: str) -> list[Found]:
        """The entries that the page of a folder on a web server links to."""
        from dali_lab.io.remote.web_folder import links, page

        folder = f"{key.rstrip('/')}/" if key else ""
        address = self._url(folder)
        return links(page(address, self._timeout), address)

    def _tried(self, work: Callable[[], T], conditional: bool = False) -> T:
        _check_process()
        try:
            return work()
        except (StoreError, Unchanged):
            raise
        except Exception as error:
            explained = self._explained(error)
        if isinstance(explained, Unchanged) and not conditional:
            explained = StoreError(Kind.PASSING, f"{self._place} sent no content (status 304)")
        raise explained  # not within the handler: what the library says may have secrets in it

    def _explained(self, error: Exception) -> Exception:
        from obstore import exceptions

        text = str(error)
        if isinstance(error, exceptions.NotModifiedError):
            return Unchanged()
        if isinstance(error, exceptions.NotSupportedError) and "Range" in text:
            return _NoRangesError()
        if self._scheme in ("http", "https") and "Content-Length Header missing" in text:
            return _NoLengthError()
        if _EXPIRED.search(text):
            return StoreError(
                Kind.EXPIRED, f"the credentials for {self._place} have expired; sign in again, or let them be renewed"
            )
        if unknown := _UNKNOWN.search(text):
            return StoreError(
                Kind.EXPIRED, f"{self._place} does not know the credentials found ({unknown[1]}): sign in again"
            )
        if "NoSuchBucket" in text:
            return StoreError(Kind.MISSING, f"there is no bucket '{self._bucket}'")
        if "ContainerNotFound" in text:
            return StoreError(Kind.MISSING, f"there is no container '{self._bucket}'")
        if isinstance(error, (exceptions.NotFoundError, FileNotFoundError)):
            return StoreError(Kind.MISSING, "it does not exist")
        if isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError)):
            return StoreError(Kind.DENIED, self._denied(text))
        if "redirect without LOCATION" in text:
            if self._scheme in ("s3", "s3a"):
                reason = "is in another region: AWS_REGION, or the profile, has to name it"
            else:
                reason = "answers with a redirect that names no place"
            return StoreError(Kind.WRONG, f"{self._place} {reason}")
        if isinstance(error, exceptions.PreconditionError):
            return StoreError(Kind.CHANGED, "it changed while it was read")
        if refused := _CERTIFICATE.search(text):
            return StoreError(
                Kind.WRONG,
                f"the certificate of {self._place} is refused ({refused[1]}): SSL_CERT_FILE names a file with those of"
                " your own authorities",
            )
        reason = _reason(text)
        status = _STATUS.search(text)
        number = (status[1] or status[2]) if status else ""
        if number in ("401", "403"):
            return StoreError(Kind.DENIED, self._denied(text))
        if number == "416":
            return StoreError(Kind.CHANGED, "it is shorter than it was, or than its index says")
        if number[:1] in ("3", "4") and number not in _PASSING_STATUS:
            return StoreError(Kind.WRONG, f"{self._place} refuses the request: {reason}")
        if isinstance(error, (exceptions.NotSupportedError, exceptions.InvalidPathError, ValueError, TypeError)):
            return StoreError(Kind.WRONG, reason)
        return StoreError(Kind.PASSING, f"{self._place}: {reason}")

    @property
    def _place(self) -> str:
        return f"{self._scheme}://{self._bucket}"

    def _denied(self, text: str) -> str:
        code = _CODE.search(text)
        said = f" ({code[1]})" if code else ""
        if not self._signed:
            return (
                f"{self._place} denies it{said} to requests without credentials, and none were found: see"
                " docs/how-to/object-stores.md for where they are looked for"
            )
        reason = _DENIALS.get(code[1] if code else "", "the credentials found have no right to read it")
        return f"{self._place} denies it{said}: {reason}"


def _may_hold_many_folders(page: Sequence[Any], cut: int) -> bool:
    """Whether the store has to tell folders from objects: a full page goes on, an empty object may be a folder."""
    return any(not meta["size"] or (len(page) == _PAGE and "/" in meta["path"][cut:]) for meta in page)


def _check_process() -> None:
    global _process
    _process = _process or os.getpid()
    if _process != os.getpid():
        raise StoreError(
            Kind.WRONG,
            "this process was forked from one that had read remote files, whose connections it cannot use:"
            " start worker processes by 'spawn' or 'forkserver'",
        )


def _info(meta: Any) -> Info:
    return Info(int(meta["size"]), meta.get("e_tag") or f"{meta['last_modified']} {meta['size']}")


def _google_settings() -> dict[str, Any]:
    """No credentials are asked for where none are kept: public buckets are read without."""
    variables = ("APPLICATION_CREDENTIALS", "SERVICE_ACCOUNT", "SERVICE_ACCOUNT_KEY", "SERVICE_ACCOUNT_PATH")
    home = os.environ.get("CLOUDSDK_CONFIG") or os.path.expanduser("~/.config/gcloud")
    kept = any(os.environ.get(f"GOOGLE_{name}") for name in variables) or os.path.exists(
        os.path.join(home, "application_default_credentials.json")
    )
    # Machines of the cloud answer for their credentials themselves.
    return (
        {} if kept or (os.path.exists("/sys/class/dmi/id/product_name") and _is_google()) else {"skip_signature": True}
    )


def _is_google() -> bool:
    try:
        with open("/sys/class/dmi/id/product_name", encoding="ascii", errors="replace") as file:
            return "Google" in file.read()
    except OSError:
        return False


def _reason(text: str) -> str:
    """The innermost cause in an error of the library, without its debugging text."""
    code, message = _CODE.search(text), _MESSAGE.search(text)
    if code or message:
        return ": ".join(found[1].split("\n")[0] for found in (code, message) if found)
    first = text.split("\n\nDebug source", 1)[0].strip()
    first = first.removeprefix("Generic S3 error: ").removeprefix("Generic HTTP error: ")
    causes = re.findall(
        r'(?:Os \{[^}]*message: "([^"]+)"|"(dns error|operation timed out|connection closed[^"]*)")', text
    )
    last = next((a or b for a, b in reversed(causes) if a or b), "")
    return f"{first} ({last})" if last and last not in first else first
