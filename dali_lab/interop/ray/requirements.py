"""Ray: whether it is there and recent enough, and a connection to a cluster, with what to do where there is none."""

from __future__ import annotations

import contextlib
import os
import re
import socket

from dali_lab.model.errors import DaliLabError
from dali_lab.model.extras import require

MINIMUM = (2, 60)
"""The oldest release of Ray that the tests ran with."""


_PATIENCE = 10.0
"""Seconds that a cluster has to answer a connection."""


class RayError(DaliLabError):
    """Ray is missing or too old, or a cluster cannot be used."""


def require_ray() -> None:
    """Check that Ray Data can be imported.

    Raises
    ------
    RayError
        If it is not installed, or too old; it says what to install.
    """
    try:
        require("ray", ("ray", "pyarrow"), "a pipeline on Ray")
    except DaliLabError as error:
        raise RayError(error.message, code=error.code) from None
    import ray

    found = re.match(r"(\d+)\.(\d+)", ray.__version__)
    if found is not None and (int(found[1]), int(found[2])) < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        raise RayError(
            f"Ray {ray.__version__} is too old, {wanted} or newer is needed: pip install -U 'dali-lab[ray]',"
            " with the same version on all nodes"
        )
    try:
        import ray.data
    except ImportError as error:
        raise RayError(f"Ray Data cannot be loaded ({error}): pip install -U 'dali-lab[ray]'") from error


def connect(address: str | None = None) -> None:
    """Connect to a cluster, or start Ray on this machine; where there is a connection already, nothing happens.

    Parameters
    ----------
    address
        ``"auto"``, ``host:port`` of the head node, or a ``ray://`` address; by default the environment variable
        ``RAY_ADDRESS``, or else this machine alone.

    Raises
    ------
    RayError
        If there is no cluster at the address, or it runs another version of Ray or of Python.
    """
    require_ray()
    import ray

    if ray.is_initialized():
        return
    address = address or os.environ.get("RAY_ADDRESS") or None
    _probe(address)
    try:
        ray.init(address=address, log_to_driver=True, logging_level="warning")
    except Exception as error:  # Ray raises bare ones, too
        where = f"at '{address}'" if address else "on this machine"
        text = re.sub(r"\s*\n\s*", " ", str(error).strip().partition("\n\n")[0]).rstrip(".")
        raise RayError(
            f"no Ray cluster can be used {where}: {text}. `ray status --address HOST:6379` tells whether one runs"
            " there; `ray start --head` starts one. A cluster that asks for a token takes RAY_AUTH_MODE=token here, and"
            " the token that `ray get-auth-token` shows on its head node."
        ) from error


def _probe(address: str | None) -> None:
    """Raise where no Ray answers at ``host:port``: Ray itself tries for minutes, or for ever."""
    found = re.fullmatch(r"(?:ray://)?([^\s:/]+|\[[^\s\]]+\]):(\d+)", address or "")
    if found is None:
        return
    try:
        with contextlib.closing(socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=5)) as channel:
            answers = os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true") or _speaks_grpc(channel)
    except (OSError, OverflowError) as error:
        raise RayError(
            f"no Ray cluster can be used at '{address}': {getattr(error, 'strerror', None) or error}."
            f" `ray start --head --port {found[2]}` on that machine starts one."
        ) from error
    if not answers:
        raise RayError(
            f"no Ray cluster can be used at '{address}': another program listens there, or Ray does not answer."
            " `ray status` on the head node tells its address."
        )


_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""Beginning of a connection in HTTP/2, on which gRPC is built (RFC 9113, 3.4): the preface, and empty settings."""


def _speaks_grpc(channel: socket.socket) -> bool:
    """Whether the other side begins with its settings, as servers of HTTP/2 do."""
    channel.settimeout(_PATIENCE)
    answer = b""
    with contextlib.suppress(OSError):
        channel.sendall(_HELLO)
        while len(answer) < 4 and (more := channel.recv(4 - len(answer))):
            answer += more
    return answer[3:] == b"\4"
