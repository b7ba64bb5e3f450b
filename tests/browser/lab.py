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
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False, "autosaveInterval": 1},
}


BARE = [
    "import sys, importlib.abc",
    "class Absent(importlib.abc.MetaPathFinder):",
    "    def find_spec(self, name, path, target=None):",
    "        if name == 'dali_lab': raise ModuleNotFoundError(\"No module named 'dali_lab'\", name=name)",
    "sys.meta_path.insert(0, Absent())",
    "from ipykernel.kernelapp import launch_new_instance",
    "launch_new_instance()",
]
"""A kernel in whose environment dali_lab is not installed."""


class Lab:
    """A server, its address, and the folder that it serves; it can go away and return."""

    def __init__(self, place: Path, module: str = "jupyterlab") -> None:
        self.place = place
        self.folder = place / "work"
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, context: Any, path: str = "", workspace: str = "tests") -> Tab:
        """A page of the lab, showing a file."""
        tab = Tab(context.new_page())
        tail = f"/tree/{path}" if path else ""
        tab.page.goto(f"{self.address}/lab/workspaces/{workspace}{tail}?reset")
        tab.page.wait_for_selector("#jp-MainLogo", timeout=60_000)
        return tab

    def start(self) -> None:
        """Start the server and wait until it answers."""
        place = self.place
        environment = {
            **os.environ,
            "JUPYTER_PATH": str(place / "share"),
            "JUPYTER_CONFIG_DIR": str(place / "config"),
            "JUPYTER_RUNTIME_DIR": str(place / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(place / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(place / "workspaces"),
            "IPYTHONDIR": str(place / "ipython"),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }
        command = [
            sys.executable, "-m", self._module, "--no-browser", "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={self.port}", "--IdentityProvider.token=", "--ServerApp.password=",
            f"--ServerApp.root_dir={self.folder}", "--allow-root", "--ServerApp.port_retries=0",
            "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
        ]  # fmt: skip
        log = place / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
        _wait(self.address, self._process, log)

    def stop(self) -> None:
        """End the server, and its kernels with it."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(place: Path, module: str = "jupyterlab") -> Iterator[Lab]:
    """JupyterLab, or another application over the same extensions, with its settings and kernels in `place`."""
    pytest.importorskip(module, reason=f"needs {module}")
    if not (EXTENSION / "package.json").is_file():
        pytest.skip("the extension is not built: run 'jlpm build' in extension/")
    lab = Lab(place, module)
    lab.folder.mkdir()
    extensions = place / "share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "dali-lab").symlink_to(EXTENSION)
    kernel = place / "share" / "kernels" / "bare" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    argv = [sys.executable, "-c", "\n".join(BARE), "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": argv, "display_name": "Bare", "language": "python"}))
    for plugin, values in OVERRIDES.items():
        package, name = plugin.rsplit(":", 1)
        file = place / "settings" / package / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/api/status", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-3000:]}")
