"""A web server of a folder, with ranges: nginx where it is installed."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SETTINGS = """
daemon off; master_process off; worker_processes 1; pid {home}/pid; error_log {home}/errors;
events {{ worker_connections 512; }}
http {{
  access_log off; default_type application/octet-stream;
  client_body_temp_path {home}/a; proxy_temp_path {home}/b; fastcgi_temp_path {home}/c; uwsgi_temp_path {home}/d;
  scgi_temp_path {home}/e;
  server {{ listen 127.0.0.1:{port}; location / {{ root {root}; autoindex on; }} }}
}}
"""


def quiet_port() -> int:
    """A free port below those that the system hands out: other programs take theirs from there at any moment."""
    for port in random.sample(range(20_000, 32_000), 200):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is no free port")


@contextmanager
def dead_address() -> Iterator[str]:
    """The address of a port at which nothing listens, and which no other program gets."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@contextmanager
def web_server(root: Path) -> Iterator[str]:
    """The address of a server of the folder `root`."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    with tempfile.TemporaryDirectory() as home:
        port = quiet_port()
        settings = Path(home, "settings")
        settings.write_text(_SETTINGS.format(home=home, port=port, root=root))
        server = subprocess.Popen([program, "-p", home, "-c", str(settings)], stderr=subprocess.PIPE)
        try:
            while True:
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert server.poll() is None, server.stderr and server.stderr.read().decode()
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()
