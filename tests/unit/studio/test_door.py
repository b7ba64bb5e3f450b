"""The app's door: who is let in and who is refused, tried by a client of its own."""

from __future__ import annotations

import hmac
import logging
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dali_lab.cli.app import password_in
from dali_lab.model.errors import DaliLabError
from dali_lab.studio.bundle import BUNDLE
from dali_lab.studio.catalogue import catalogue
from dali_lab.studio.hosts.app_server import AppServer
from dali_lab.studio.server import http as server_http
from dali_lab.studio.server.access import Access, host_names, split_host
from dali_lab.studio.server.log import Kinds, LibraryLog
from dali_lab.studio.server.pages import EDITOR
from dali_lab.studio.server.sockets import SOCKET, EditorSocket
from dali_lab.studio.session import Session
from tests.proxy import Proxy
from tests.together import with_each
from tests.unit.studio.attacker import PATIENCE, Attacker, serve

pytestmark = pytest.mark.skipif(not BUNDLE.is_file(), reason="the editor is not built: run 'jlpm build' in extension/")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(session: Session) -> Iterator[AppServer]:
    made = serve(session)
    yield made
    made.close()


@pytest.fixture
def attacker(server: AppServer) -> Attacker:
    return Attacker(server)


@with_each(
    "path",
    ["/", "/gallery", "/metadata", "/favicon.ico", EDITOR, "/documentation/", "/nothing", "//", SOCKET,
     "/static/../../etc/passwd"],
)  # fmt: skip
@with_each("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_answers_without_the_token(attacker: Attacker, path: str, method: str) -> None:
    answer = attacker.ask(path, method)
    assert answer.status == 403
    assert "Set-Cookie" not in answer.headers
    assert "showPage" not in answer.text
    assert "dali-lab app" in answer.text or not answer.text, "it says where the token is"


def test_no_route_of_the_app_answers_without_the_token(attacker: Attacker) -> None:
    for rule in attacker.server._door.application.wildcard_router.rules:
        route = rule.matcher.regex
        path = re.sub(r"\(\?!.*?\)|[\\?$()]", "", route.pattern.replace("(.*)", "x")) or "/"
        assert route.match(path), "not an address of this route"
        assert attacker.ask(path).status == attacker.ask(path, "HEAD").status == 403
        assert attacker.websocket(path=path) == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(attacker: Attacker) -> None:
    answer = attacker.ask(f"/gallery?token={attacker.server.access.token}")
    assert answer.status == 200
    assert attacker.server.access.token not in str(answer.headers) + answer.text
    assert 'content="0;url=/gallery"' in answer.text
    flags = {flag.strip() for flag in answer.headers["Set-Cookie"].split(";")[1:]}
    assert flags == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
    page = attacker.ask("/", Cookie=answer.cookie)
    assert page.status == 200
    assert "<title>DALI Lab</title>" in page.text
    assert answer.cookie.partition("=")[2] not in page.text, "scripts cannot read the cookie"
    assert attacker.ask(EDITOR, Cookie=answer.cookie).status == 200


@pytest.mark.parametrize("token", ["", "x", "old-token-of-an-earlier-start", "ü" * 32, "a" * 5000])
def test_a_wrong_token_is_refused(attacker: Attacker, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.parse import quote

    monkeypatch.setattr("dali_lab.studio.server.door._WRONG_SECONDS", 0.01)
    answer = attacker.ask(f"/?token={quote(token)}")
    assert answer.status == 403
    assert "Set-Cookie" not in answer.headers
    assert attacker.ask("/enter", "POST", f"token={quote(token)}").status == 403


@pytest.mark.parametrize("part", ["", "&token=%ff", "%ff"])
def test_the_token_is_in_no_log(
    attacker: Attacker, part: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dali_lab.studio.server.door._WRONG_SECONDS", 0.01)
    token = attacker.server.access.token
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with caplog.at_level(logging.DEBUG):
        for path in ("/", SOCKET, "/static/%00"):
            attacker.ask(f"{path}?token={token}{part}")
            attacker.ask(f"{path}?token={token}{part}", "PUT")
            attacker.ask(f"{path}?token={token}{part}", Host="evil.example")
        attacker.ask("/enter", "POST", f"token={token}{part}", **form)
    assert token not in caplog.text


def test_lines_of_libraries_have_no_queries() -> None:
    record = logging.LogRecord("tornado", 30, "x.py", 1, "400 GET %s (%s)", ("/a?token=secret-token", "::1"), None)
    assert LibraryLog().filter(record)
    assert record.getMessage() == "400 GET /a?… (::1)"


def test_a_cookie_of_the_same_name_beside_it_locks_nobody_out(attacker: Attacker) -> None:
    """Pages on other ports of the host can put one there."""
    cookie = attacker.cookie()
    name = cookie.partition("=")[0]
    for sent in (f"{name}=tossed; {cookie}", f"{cookie}; {name}=tossed", f"{name}=; {cookie}; {name}={'x' * 5000}"):
        assert attacker.ask("/", Cookie=sent).status == 200
    assert attacker.ask("/", Cookie=f"{name}=tossed; x={cookie.partition('=')[2]}").status == 403


def test_a_typed_token_is_taken(attacker: Attacker) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": attacker.server.url.rstrip("/")}
    answer = attacker.ask("/enter", "POST", f"token={attacker.server.access.token}", **form)
    assert answer.status == 200
    assert attacker.ask("/", Cookie=answer.cookie).status == 200


def test_many_wrong_tokens_are_told_to_wait(attacker: Attacker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dali_lab.studio.server.door._MOST_WRONG", 0)
    assert attacker.ask("/?token=wrong").status == 429
    assert attacker.ask(f"/?token={attacker.server.access.token}").status == 200, "the right one is taken at once"


def test_tokens_are_drawn_at_random_and_short_ones_refused() -> None:
    assert Access().token != Access().token
    assert len(Access().token) >= 32
    assert "token" not in repr(Access())
    for token in ("", "short", "a b\nc d e f", "ünicode-token"):
        with pytest.raises(DaliLabError, match="a token has at least 8"):
            Access(token)


def test_a_cookie_of_another_port_is_refused(attacker: Attacker, session: Session) -> None:
    other = serve(session, access=Access(attacker.server.access.token))
    try:
        _, _, value = Attacker(other).cookie().partition("=")
        for name in (f"dali-lab-{attacker.server.port}", f"dali-lab-{other.port}"):
            assert attacker.ask("/", Cookie=f"{name}={value}").status == 403
    finally:
        other.close()


def test_the_websocket_opens_for_the_page_alone(attacker: Attacker) -> None:
    cookie = attacker.cookie()
    own = attacker.server.url.rstrip("/")
    assert attacker.websocket() == 403, "without the cookie"
    assert attacker.websocket(Cookie="dali-lab-5080=made-up") == 403
    assert attacker.websocket(Cookie=cookie, Origin="http://evil.example") == 403
    assert attacker.websocket(Cookie=cookie, Origin="http://127.0.0.1:1") == 403, "another port's page"
    assert attacker.websocket(Cookie=cookie, Origin="null") == 403
    assert attacker.websocket(Cookie=cookie, Host="evil.example") == 403
    assert attacker.websocket(Cookie=cookie, Origin=own) == 101


def test_frames_do_not_wait_for_each_other(attacker: Attacker, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, without_delay = EditorSocket.open, []

    def begun(handler: EditorSocket) -> None:
        begin(handler)
        without_delay.append(handler.ws_connection.stream.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(EditorSocket, "open", begun)
    assert attacker.websocket(Cookie=attacker.cookie(), Origin=attacker.server.url.rstrip("/")) == 101
    assert all(without_delay)
    assert len(without_delay) == 1


def test_foreign_hosts_and_origins_are_refused(attacker: Attacker) -> None:
    cookie, port = attacker.cookie(), attacker.server.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "", "a@localhost", "[", "x" * 300):
        assert attacker.ask("/", Cookie=cookie, Host=host).status in (400, 403)
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(f"GET / HTTP/1.0\r\nCookie: {cookie}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 403"), "a request that names no host"
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert attacker.ask("/", Cookie=cookie, Host=host).status == 200
    tunnel = attacker.ask(f"/?token={attacker.server.access.token}", Host="localhost:9000").cookie
    assert attacker.ask("/", Cookie=tunnel, Host="localhost:9000", Origin="http://localhost:9000").status == 200
    for origin in ("http://evil.example", f"http://localhost:{port + 1}", "null", "file://", "http://[", ""):
        assert attacker.ask("/", Cookie=cookie, Origin=origin).status == 403
    assert attacker.ask(EDITOR, Cookie=cookie, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors").status == 403
    assert attacker.ask("/", Cookie=cookie, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200


@pytest.mark.parametrize(
    "path",
    ["/static/../../../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/..%2f..%2f..%2fetc%2fpasswd",
     "/static//etc/passwd", "/static/%00", "/static/editor.js/../x", "/static/../x.py", "/static/%2e%2e/session.py",
     "/static/editor.licences.txt", "/static/", "/static", "/static/editor.jsx", "/documentation/../../secret"],
)  # fmt: skip
def test_files_beside_the_pages_are_not_served(attacker: Attacker, path: str) -> None:
    """Not even to who has the cookie."""
    answer = attacker.ask(path, Cookie=attacker.cookie())
    assert answer.status in (400, 403, 404)
    assert "root:" not in answer.text and "import" not in answer.text


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "/%5cevil.example", '/"><script>', "/nothing"])
def test_the_token_leads_to_a_page_of_the_app_alone(attacker: Attacker, path: str) -> None:
    said = attacker.ask(f"{path}?token={attacker.server.access.token}".replace('"', "%22")).text
    assert 'content="0;url=/"' in said and "evil" not in said and "<script>" not in said


@pytest.mark.parametrize(
    "headers",
    ["Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 0\r\nContent-Length: 7", "Content-Length: +0",
     "Content-Length: 0\r\nTransfer-Encoding: xchunked", "Content-Length: 0\r\nHost: evil.example"],
)  # fmt: skip
def test_requests_that_two_servers_read_differently_are_refused(attacker: Attacker, headers: str) -> None:
    """None hides a second request behind a proxy's back."""
    own = f"Host: localhost:{attacker.port}\r\nCookie: {attacker.cookie()}\r\n"
    hidden = f"GET /metadata HTTP/1.1\r\n{own}Connection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", attacker.port), timeout=PATIENCE) as connection:
        connection.sendall(f"POST /enter HTTP/1.1\r\n{own}{headers}\r\n\r\n0\r\n\r\n{hidden}".encode())
        said = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert said.startswith(b"HTTP/1.1 400") and said.count(b"HTTP/1.1 ") == 1


def test_names_of_the_server() -> None:
    assert host_names("127.0.0.1") == {"127.0.0.1", "localhost", "::1"}
    everywhere = host_names("0.0.0.0")
    assert {"localhost", socket.gethostname().lower()} <= everywhere
    assert "0.0.0.0" not in everywhere
    assert "hub.example" in host_names("127.0.0.1", ("hub.example:8000",))
    assert split_host("a:99999") is None
    assert split_host("a/b") is None


def test_the_page_may_load_nothing_but_its_own(attacker: Attacker) -> None:
    page = attacker.ask("/", Cookie=attacker.cookie())
    rules = dict(rule.strip().split(" ", 1) for rule in page.headers["Content-Security-Policy"].split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"], "no text is run as a script, and no inline script but the page's own"
    nonce = rules["script-src"].partition("'nonce-")[2].rstrip("'")
    assert page.text.count(f'nonce="{nonce}"') == page.text.count("<script")
    assert nonce not in attacker.ask("/", Cookie=attacker.cookie()).headers["Content-Security-Policy"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Security-Policy" in attacker.ask("/").headers


def test_the_documentation_is_served_where_it_has_been_built(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    page = tmp_path / "dali-lab/documentation/html/reference/operators/rotate.html"
    served = serve(session)
    try:
        assert {each.page for each in catalogue(session.documentation).operators if not each.added} == {None}
        page.parent.mkdir(parents=True)
        text = "<!doctype html><script>1</script>" + "a paragraph " * 20_000 + "<script src=x.js></script>the end"
        page.write_text(text)
        (tmp_path / "dali-lab/documentation/secret.txt").write_text("secret")
        pages = {each.name: each.page for each in catalogue(session.documentation).operators}
        assert pages["rotate"] == "/documentation/reference/operators/rotate.html"
        assert pages["resize"] is None
        attacker = Attacker(served)
        assert attacker.ask(pages["rotate"]).status == 403
        cookie = attacker.cookie()
        for _ in range(2):
            answer = attacker.ask(pages["rotate"], Cookie=cookie, If_Modified_Since="Fri, 01 Jan 2100 00:00:00 GMT")
            nonce = answer.headers["Content-Security-Policy"].partition("'nonce-")[2].partition("'")[0]
            assert answer.text == text.replace("<script", f'<script nonce="{nonce}"')
        for path in ("../secret.txt", "%2e%2e/secret.txt", "reference/../../secret.txt", "", "reference/operators/"):
            assert "secret" not in attacker.ask(f"/documentation/{path}", Cookie=cookie).text
    finally:
        served.close()


def test_refusals_are_logged_and_do_not_fill_the_log(attacker: Attacker, caplog: pytest.LogCaptureFixture) -> None:
    attacker.server._door.logged = Kinds()
    with caplog.at_level(logging.WARNING, "dali_lab.app"):
        for _ in range(50):
            attacker.ask("/\x1b[31m".replace("\x1b", "%1b"))
    lines = [record.getMessage() for record in caplog.records if record.name == "dali_lab.app"]
    assert len(lines) == 1
    assert "127.0.0.1" in lines[0]


def test_pages_have_a_number(attacker: Attacker, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = attacker.cookie()
    monkeypatch.setattr("dali_lab.studio.server.door.MOST_TABS", 0)
    assert attacker.ask("/", Cookie=cookie).status == 503
    assert attacker.ask(EDITOR, Cookie=cookie).status == 200, "open pages go on"


def test_thousands_of_connections_leave_the_others_alone(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_http, "MOST_STRANGERS", 20)
    server = serve(session)
    attacker = Attacker(server)
    cookie = attacker.cookie()
    sockets = []
    try:
        for _ in range(100):
            sockets.append(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
            sockets[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert attacker.ask("/", Cookie=cookie).status == 200
        refused = sockets[0].recv(100)
        assert refused.startswith(b"HTTP/1.1 503")
        assert len(server._http._strangers) <= 20
    finally:
        for each in sockets:
            each.close()
        server.close()


@pytest.mark.parametrize(
    "garbage",
    [b"\x00" * 70_000, b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00" * 100 + b"\r\n\r\n",
     b"POST /enter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n",
     b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
     b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: ;;=;\xff\r\n\r\n"],
    ids=["zeros", "version", "tls", "large body", "long path", "cookie"],
)  # fmt: skip
def test_garbage_ends_its_own_connection(attacker: Attacker, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", attacker.server.port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(garbage)
            said = connection.recv(100)
        except ConnectionError:
            said = b""
    assert said == b"" or said.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 413"))
    assert attacker.ask("/", Cookie=attacker.cookie()).status == 200


def test_a_message_of_a_gigabyte_ends_its_connection_unread(attacker: Attacker) -> None:
    cookie = attacker.cookie()
    with socket.create_connection(("127.0.0.1", attacker.server.port), timeout=PATIENCE) as connection:
        connection.sendall(attacker.upgrade(cookie))
        assert connection.recv(4096).startswith(b"HTTP/1.1 101")
        connection.sendall(b"\x82\xff" + (1 << 30).to_bytes(8, "big") + b"mask" + b"x" * 1000)
        last = time.monotonic() + PATIENCE
        said = b"."
        try:
            while said and time.monotonic() < last:
                said = connection.recv(1 << 16)
        except ConnectionError:
            said = b""
    assert said == b"", "the connection stays open"
    assert attacker.ask("/", Cookie=cookie).status == 200


@pytest.mark.parametrize(("strips", "host"), [(False, None), (True, None), (True, "127.0.0.1:5080")])
def test_behind_a_proxy_with_a_prefix(session: Session, strips: bool, host: str | None) -> None:
    access = Access(prefix="/user/me/dali/", names=("hub.example",))
    server = serve(session, access=access)
    proxy = Proxy(server.port, "/user/me/dali", strips=strips, host=host)
    outside = Attacker(server)
    outside.port = proxy.port
    try:
        assert access.prefix == "/user/me/dali"
        browser = {"Host": f"hub.example:{proxy.port}"}
        assert outside.ask("/user/me/dali/", **browser).status == 403
        entered = outside.ask(f"/user/me/dali/?token={access.token}", **browser)
        assert entered.status == 200
        assert "Path=/user/me/dali/" in entered.headers["Set-Cookie"]
        assert 'url=/user/me/dali/"' in entered.text
        browser["Cookie"] = entered.cookie
        assert "<title>DALI Lab</title>" in outside.ask("/user/me/dali/", **browser).text
        assert outside.ask("/user/me/dali/gallery", **browser).status == 200
        assert outside.ask("/user/me/dali" + EDITOR, **browser).status == 200
        if not strips:
            assert outside.ask("/user/me/dali", **browser).headers["Location"] == "/user/me/dali/"
            stranger = outside.ask("/user/me/dali", Host=browser["Host"])
            assert stranger.status == 403 and 'content="0;url=/user/me/dali/"' in stranger.text
        own = f"http://hub.example:{proxy.port}"
        place = "/user/me/dali" + SOCKET
        assert outside.websocket(place, **browser, Origin=own) == 101
        assert outside.websocket(place, **browser, Origin="http://evil.example") == 403
        assert outside.websocket(place, Host=browser["Host"], Origin=own) == 403
    finally:
        proxy.close()
        server.close()


def test_other_ports_of_a_proxys_host_are_foreign_where_its_port_is_given(session: Session) -> None:
    server = serve(session, access=Access(names=("hub.example:443", "any.example")))
    try:
        attacker = Attacker(server)
        cookie = attacker.cookie()
        origins = {"https://hub.example": 200, "https://hub.example:8443": 403, "http://any.example:8443": 200}
        for origin, status in origins.items():
            assert attacker.ask("/", Cookie=cookie, Origin=origin).status == status
    finally:
        server.close()


@pytest.mark.parametrize(
    "prefix", ["/a b", "/a//b", "/../a", "/a/..", '/"><x', "/a?b", "/a;b", "/\u00e9", "http://a/b"]
)
def test_a_prefix_is_a_path(prefix: str) -> None:
    with pytest.raises(DaliLabError, match="is no path of an address"):
        Access(prefix=prefix)


def test_guesses_of_a_password_by_its_cookie_are_slow() -> None:
    access = Access("password")
    assert access.cookie(1) != hmac.new(b"password", b"cookie of port 1", "sha256").hexdigest()
    assert access.cookie(1) != access.cookie(2)


def test_tls(session: Session, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    made = subprocess.run([*command, "-keyout", key, "-out", certificate], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("there is no openssl")
    server = serve(session, access=Access(certificate=certificate, private_key=key))
    try:
        assert server.address.startswith("https://127.0.0.1:")
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain:
            trusting = ssl.create_default_context(cafile=str(certificate))
            with trusting.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(f"GET /?token={server.access.token} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
                said = b"".join(iter(lambda: secure.recv(4096), b""))
        assert b"Secure" in said
    finally:
        server.close()
    with pytest.raises(DaliLabError, match="cannot be used"):
        serve(session, access=Access(certificate=tmp_path / "none.pem"))


def test_a_password_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("correct horse battery\nnot this line\n")
    path.chmod(0o644)
    with pytest.raises(DaliLabError, match="others can read"):
        password_in(path)
    path.chmod(0o600)
    assert password_in(path) == "correct horse battery"
