"""Clients that send garbage to the app for an hour: what another client waits meanwhile, and the server's memory.

Run it with ``python -m tests.benchmarks.garbage [--minutes 60]``. Four processes send messages of four kinds
(:mod:`tests.unit.studio.flood`) as fast as they are taken; one client asks for its page, sends a message over a
websocket of its own, and pings the session, in turn. The same is measured before, without garbage.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from dali_lab.studio.hosts.app_server import AppServer
from dali_lab.studio.server.pages import EDITOR
from dali_lab.studio.server.sockets import SOCKET
from dali_lab.studio.session import Session
from tests.benchmarks.memory import resident
from tests.unit.studio.attacker import PATIENCE, Attacker
from tests.unit.studio.conftest import Client
from tests.unit.studio.flood import KINDS, PING

QUIET_SECONDS = 30.0
PAUSE_SECONDS = 0.5


class Page:
    """The websocket of a page that behaves."""

    def __init__(self, attacker: Attacker, cookie: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._request = HTTPRequest(f"ws://127.0.0.1:{attacker.port}{SOCKET}", headers={"Cookie": cookie})
        self._connection = self._loop.run_until_complete(self._connect())

    async def _connect(self) -> WebSocketClientConnection:
        return await websocket_connect(self._request)

    def ask(self) -> None:
        """Send a message and wait for the answer."""
        self._loop.run_until_complete(asyncio.wait_for(self._asked(), PATIENCE))

    async def _asked(self) -> None:
        await self._connection.write_message(PING)
        while True:
            frame = await self._connection.read_message()
            if frame is None:
                raise SystemExit("the connection of the client that behaves was cut")
            if b'"response"' in frame:
                return


def measured(actions: dict[str, Callable[[], object]], going: Callable[[], bool]) -> dict[str, list[float]]:
    """Milliseconds of each action, in turn as long as something goes on; and MiB of this process."""
    found: dict[str, list[float]] = {name: [] for name in (*actions, "memory")}
    while going():
        for name, action in actions.items():
            began = time.perf_counter()
            action()
            found[name].append(1000 * (time.perf_counter() - began))
        found["memory"].append(resident())
        time.sleep(PAUSE_SECONDS)
    return found


def described(values: list[float]) -> str:
    """Median, 95th percentile and maximum."""
    cuts = statistics.quantiles(values, n=20)
    return f"{statistics.median(values):.1f}, {cuts[-1]:.1f}, {max(values):.1f}"


def report(minutes: float) -> str:
    """Measure, and describe what was found."""
    logged: list[int] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(len(record.getMessage()))  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    session = Session(threads=1)
    server = AppServer(session)
    attacker, inside = Attacker(server), Client(session)
    cookie = attacker.cookie()
    page = Page(attacker, cookie)
    actions: dict[str, Callable[[], object]] = {
        "a script by HTTP": lambda: attacker.ask(EDITOR, Cookie=cookie),
        "a message over a websocket": page.ask,
        "a request to the session": lambda: inside.call("ping"),
    }
    end = time.monotonic() + QUIET_SECONDS
    quiet = measured(actions, lambda: time.monotonic() < end)
    command = [sys.executable, "-m", "tests.unit.studio.flood", f"ws://127.0.0.1:{server.port}{SOCKET}"]
    floods = [
        subprocess.Popen(
            [*command, cookie, kind, str(60 * minutes)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
        )
        for kind in KINDS
    ]
    began, busy = time.monotonic(), time.process_time()
    loud = measured(actions, lambda: any(flood.poll() is None for flood in floods))
    busy, length = time.process_time() - busy, time.monotonic() - began
    sent = [flood.communicate()[0].strip() for flood in floods]
    server.close()
    session.close()
    bounds = [len(loud["memory"]) * tenth // 10 for tenth in range(11)]
    tenths = [statistics.median(loud["memory"][start:stop]) for start, stop in itertools.pairwise(bounds)]
    return "\n".join(
        [
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {length / 60:.0f} minutes, {os.cpu_count()} cores,"
            f" load {os.getloadavg()[1]:.1f} at the end",
            "pieces sent: " + ", ".join(f"{kind} {int(count):,}" for kind, count in zip(KINDS, sent, strict=True)),
            f"processor time of the server and this client: {100 * busy / length:.0f} % of one core",
            f"lines in the log: {len(logged):,}, {sum(logged):,} characters",
            f"memory before: {quiet['memory'][-1]:.1f} MiB; median of each tenth: "
            + ", ".join(f"{each:.1f}" for each in tenths),
            "milliseconds (median, 95th percentile, most):",
            *(f"  {name}: {described(loud[name])}; without garbage {described(quiet[name])}" for name in actions),
        ]
    )


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    print(report(parser.parse_args().minutes))


if __name__ == "__main__":
    main()
