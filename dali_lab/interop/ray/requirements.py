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
        text = str(error).strip().split("\n")[0]
        raise RayError(
            f"no Ray cluster can be used {where}: {text}. `ray status --address HOST:6379` tells whether one runs"
            " there; `ray start --head` starts one."
        ) from error


def _probe(address: str | None) -> None:
    """Raise where nothing listens at ``host:port``: Ray itself tries for minutes."""
    found = re.fullmatch(r"(?:ray://)?([^\s:/]+|\[[^\s\]]+\]):(\d+)", address or "")
    if found is None:
        return
    try:
        with contextlib.closing(socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=5)):
            pass
    except (OSError, OverflowError) as error:
        raise RayError(
            f"no Ray cluster can be used at '{address}': {getattr(error, 'strerror', None) or error}."
            f" `ray start --head --port {found[2]}` on that machine starts one."
        ) from error
