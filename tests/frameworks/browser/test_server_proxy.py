"""The app behind a real jupyter-server-proxy, under the path that it shows it at; and beside pages of others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.hosts.application import start_session
from dali_lab.studio.server.access import Access
from tests.frameworks.browser.conftest import PATIENCE, Tab
from tests.servers.web import quiet_port

if TYPE_CHECKING:
    from dali_lab.studio.hosts.app_server import AppServer

pytest.importorskip("jupyter_server_proxy", reason="jupyter-server-proxy is not installed")


@dataclass
class Proxied:
    """An app, and the address at which the proxy shows it."""

    server: AppServer
    page: str


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Jupyter server under ``/user/me``."""
    place, port = tmp_path_factory.mktemp("jupyter"), quiet_port()
    command = [
        sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", f"--ServerApp.port={port}",
        "--ServerApp.ip=127.0.0.1", "--ServerApp.base_url=/user/me/", "--IdentityProvider.token=",
        "--ServerApp.password=",
        f"--ServerApp.root_dir={place}", "--ServerApp.jpserver_extensions={'jupyter_server_proxy': True}",
    ]  # fmt: skip
    places = {name: str(place / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    with (place / "jupyter.log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **places}, stdout=log, stderr=subprocess.STDOUT)
        try:
            end = time.monotonic() + PATIENCE
            while True:
                assert process.poll() is None and time.monotonic() < end, (place / "jupyter.log").read_text()[-2000:]
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/user/me/api/status", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/user/me"
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture(params=["proxy", "proxy/absolute"])
def proxied(
    request: pytest.FixtureRequest, jupyter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Proxied]:
    """The app behind the Jupyter server; ``absolute`` leaves the path as it is."""
    from dali_lab.studio.hosts.app_server import AppServer

    monkeypatch.chdir(tmp_path)
    session = start_session(recovery=Recovery(tmp_path / "recovery"))
    own = quiet_port()
    server = AppServer(session, port=own, access=Access(prefix=f"/user/me/{request.param}/{own}"))
    yield Proxied(server, f"{jupyter}/{request.param}/{own}/")
    server.close()
    session.close()


def test_the_app_works_behind_jupyter_server_proxy(browser: Any, proxied: Proxied) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(proxied.page, timeout=PATIENCE)
    assert refused.value.code == 403, "the proxy opens no door"
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    try:
        tab = Tab(context.new_page())
        tab.page.goto(f"{proxied.page}?token={proxied.server.access.token}")
        tab.ready()
        assert tab.page.url == proxied.page, "the token has left the address"
        (cookie,) = (each for each in context.cookies() if each["name"].startswith("dali-lab-"))
        assert proxied.page.endswith(cookie["path"]) and cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        # An edit goes to the session by the websocket, and pictures come back by it.
        tab.choose("rotate")
        tab.page.keyboard.press("d")
        tab.idle()
        assert tab.node("rotate").get_attribute("class")
        document = proxied.server.session.store.document
        assert document["view"]["nodes"]["rotate"]["disabled"]
        tab.page.goto(f"{proxied.page}gallery")
        tab.page.get_by_test_id("gallery").wait_for()
        assert tab.hosts == {"127.0.0.1"}
        assert not tab.problems
    finally:
        context.close()
