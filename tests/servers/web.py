"""A web server of a folder, with ranges: nginx where it is installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
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


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def web_server(root: Path) -> Iterator[str]:
    """The address of a server of the folder `root`."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    with tempfile.TemporaryDirectory() as home:
        port = free_port()
        settings = Path(home, "settings")
        settings.write_text(_SETTINGS.format(home=home, port=port, root=root))
        server = subprocess.Popen([program, "-p", home, "-c", str(settings)], stderr=subprocess.PIPE)
        try:
            while True:
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert server.poll() is None, server.stderr and server.stderr.read().decode()
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()
