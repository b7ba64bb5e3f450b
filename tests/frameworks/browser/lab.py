"""A real JupyterLab with the built extension, on a free port of this machine, and pages in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.browser.conftest import PATIENCE, Tab
from tests.servers.web import quiet_port

ROOT = Path(__file__).parents[3]
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
# JupyterLab asks for files to learn whether they exist, and the browser speaks of each that does not. Its debugger and
# its shells for comms complain when a kernel goes while it is being asked.
NOT_OURS = ("favicon", "404", "Could not restore the debugger state", "Canceled future for create_subshell_request")


def is_ours(problem: str) -> bool:
    """Whether the extension may have a part in it: not where JupyterLab's own code alone threw it."""
    if "/static/lab/jlab_core" in problem and "/lab/extensions/" not in problem:
        return False
    return not any(word in problem for word in NOT_OURS)


class Lab:
    """A server, its address, and the folder that it serves; it can go away and return."""

    def __init__(self, place: Path, module: str = "jupyterlab") -> None:
        self.place = place
        self.folder = place / "work"
        self.port = 0
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._ended: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """Where the server is."""
        return f"http://127.0.0.1:{self.port}"

    def open(self, context: Any, path: str = "", workspace: str = "tests") -> Tab:
        """A page of the lab, showing a file."""
        tab = Tab(context.new_page())
        tail = f"/tree/{path}" if path else ""
        tab.page.goto(f"{self.address}/lab/workspaces/{workspace}{tail}?reset")
        tab.page.wait_for_selector("#jp-MainLogo")
        return tab

    def start(self) -> None:
        """Start the server and wait until it answers; it returns where it was."""
        for _ in range(5):
            port = self.port or quiet_port()
            if self._serves(port):
                self.port = port
                return
        raise AssertionError(f"JupyterLab did not start:\n{self._log.read_text(errors='replace')[-3000:]}")

    @property
    def _log(self) -> Path:
        return self.place / "server.log"

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the server, and of programs that share its settings."""
        place = self.place
        return {
            **os.environ,
            "JUPYTER_PATH": str(place / "share"),
            "JUPYTER_DATA_DIR": str(place / "data"),
            "JUPYTER_CONFIG_DIR": str(place / "config"),
            "JUPYTER_RUNTIME_DIR": str(place / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(place / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(place / "workspaces"),
            "IPYTHONDIR": str(place / "ipython"),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }

    def _serves(self, port: int) -> bool:
        """Start the server on this port; false where another program was quicker."""
        command = [
            sys.executable, "-m", self._module, "--no-browser", "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}", "--IdentityProvider.token=", "--ServerApp.password=",
            f"--ServerApp.root_dir={self.folder}", "--allow-root", "--ServerApp.port_retries=0",
            "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
        ]  # fmt: skip
        begins = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=output, stderr=subprocess.STDOUT
            )
        self._process = process
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status", timeout=5):
                    # Another program may be the one that answers there.
                    if process.poll() is None:
                        return True
            except OSError:
                time.sleep(0.1)
        self.stop()
        said = self._log.read_bytes()[begins:].decode(errors="replace")
        assert "in use" in said, f"JupyterLab did not start:\n{said[-3000:]}"
        return False

    def stop(self) -> None:
        """End the server, and its kernels with it."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        self._ended.append(process)
        ends = time.monotonic() + 20
        # It is not reaped yet: its processor time is that of all tests, and counts where fixtures end.
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > ends:
                process.kill()
            time.sleep(0.05)

    def close(self) -> None:
        """End the server for good."""
        self.stop()
        for process in self._ended:
            process.wait()


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
    # A copy: a build meanwhile must not take the files from under the page.
    shutil.copytree(EXTENSION, extensions / "dali-lab")
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
        lab.close()
