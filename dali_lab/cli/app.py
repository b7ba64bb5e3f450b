"""``dali-lab app``: the editor in a browser."""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import TYPE_CHECKING

from dali_lab.cli.options import Commands

if TYPE_CHECKING:
    from dali_lab.studio.session import Session


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "app", help="open the editor in a browser", description="Open the editor in a browser."
    )
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="a graph file to open (.dali.json, or a program)")
    parser.add_argument("--data", metavar="DIR", help="folder of pictures, with labels from its sub-folders")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine alone)")
    parser.add_argument("--port", type=_port, default=None, help="port to listen on (default: a free one from 5080 on)")
    parser.add_argument("--no-browser", action="store_true", help="print the address without opening it")
    parser.set_defaults(function=_app)


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError("a port lies between 0 and 65535")
    return number


def _app(options: argparse.Namespace) -> int:
    import signal
    import threading

    from dali_lab.studio.hosts.application import start_session
    from dali_lab.studio.warming import compile_in_background

    session = start_session(graph=options.graph, data=options.data)
    compiler = None
    # Being told to end is the same as Ctrl-C: what is unsaved is kept. A shell starts programs in the background
    # with Ctrl-C ignored, so that is undone too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # The first preview is computed while the server is imported and the browser opens.
        session.warm()
        compiler = compile_in_background()
        from dali_lab.studio.hosts.panel_app import AppServer, open_browser

        server = AppServer(session, options.host, options.port or 0)
        try:
            print(f"DALI Lab is at {server.address}   (Ctrl-C ends it)", flush=True)
            _say_who_can_reach(options.host)
            if not options.no_browser:
                open_browser(server.address)
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait()
        finally:
            _leave_soon(session)
            server.close()
    finally:
        if compiler is not None:
            compiler.kill()
            compiler.wait()
        _end(session)
    print()
    return 0


def _say_who_can_reach(host: str) -> None:
    if host not in ("127.0.0.1", "localhost", "::1"):
        print("Everyone who can reach this address can read and write files as you.", flush=True)


def _leave_soon(session: Session) -> None:
    """Keep unsaved changes at once, and do not wait long for work that cannot be stopped, such as a compilation."""
    import threading

    session.store.keep()
    last = threading.Timer(5.0, os._exit, (0,))
    last.daemon = True
    last.start()


def _end(session: Session) -> None:
    unsaved = session.store.dirty
    session.close()
    if unsaved:
        print("\nWhat was not saved is kept, and opens with the next 'dali-lab app'.", end="")
