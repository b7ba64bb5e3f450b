"""A real JupyterLab with the built extension, on a free port of this machine, and pages in it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Tab

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "dali_lab" / "labextension"
OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}


class Lab:
    """A server, its address, and the folder that it serves."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder

    def open(self, context: Any, path: str = "", workspace: str = "tests") -> Tab:
        """A page of the lab, showing a file."""
        tab = Tab(context.new_page())
        tail = f"/tree/{path}" if path else ""
        tab.page.goto(f"{self.address}/lab/workspaces/{workspace}{tail}?reset")
        tab.page.wait_for_selector("#jp-MainLogo", timeout=30_000)
        return tab


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(place: Path) -> Iterator[Lab]:
    """JupyterLab with its settings, workspaces and kernels in `place`."""
    pytest.importorskip("jupyterlab", reason="needs JupyterLab")
    if not (EXTENSION / "package.json").is_file():
        pytest.skip("the extension is not built: run 'jlpm build' in extension/")
    folder = place / "work"
    folder.mkdir()
    extensions = place / "share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "dali-lab").symlink_to(EXTENSION)
    settings = place / "settings"
    settings.mkdir()
    for plugin, values in OVERRIDES.items():
        package, name = plugin.rsplit(":", 1)
        file = settings / package / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    port = free_port()
    environment = {
        **os.environ,
        "JUPYTER_PATH": str(place / "share"),
        "JUPYTER_CONFIG_DIR": str(place / "config"),
        "JUPYTER_RUNTIME_DIR": str(place / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(place / "workspaces"),
        "IPYTHONDIR": str(place / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
        "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder}", "--allow-root",
        "--ServerApp.port_retries=0", "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    log = place / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process, log)
        yield Lab(address, folder)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/api/status", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-3000:]}")
