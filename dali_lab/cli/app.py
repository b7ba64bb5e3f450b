"""``dali-lab app``: the editor in a browser."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dali_lab.cli.options import Commands, add_command
from dali_lab.model.errors import DaliLabError

if TYPE_CHECKING:
    from dali_lab.studio.server.access import Access
    from dali_lab.studio.session import Session

TOKEN_VARIABLE = "DALI_LAB_TOKEN"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "app", "open the editor in a browser")
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="a graph file to open (.dali.json, or a program)")
    parser.add_argument("--data", metavar="DIR", help="folder of pictures (or a URL), with labels from its sub-folders")
    parser.add_argument(
        "--root",
        metavar="DIR",
        action="append",
        default=[],
        help="folder that the app reads and writes, besides those of GRAPH and --data; outside, it asks first; can be "
        "repeated (default: the working folder and your home)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine alone)")
    parser.add_argument("--port", type=_port, default=None, help="port to listen on (default: a free one from 5080 on)")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="Ray cluster to run on: host:port of its head node (default: RAY_ADDRESS, or else this machine)",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address without opening it")
    door = parser.add_argument_group("who may use it")
    key = door.add_mutually_exclusive_group()
    key.add_argument(
        "--token",
        metavar="TEXT",
        help=f"the token that opens the app (default: {TOKEN_VARIABLE}, or one drawn at random); "
        f"others can read options in the list of processes, so prefer {TOKEN_VARIABLE} or a file",
    )
    key.add_argument(
        "--password-file", metavar="FILE", help="file that nobody else can read, with the password on its first line"
    )
    door.add_argument("--certfile", metavar="FILE", help="certificate for TLS, in PEM format")
    door.add_argument("--keyfile", metavar="FILE", help="private key of the certificate, where it is not in the file")
    door.add_argument("--prefix", metavar="PATH", default="", help="path under which a proxy shows the app")
    door.add_argument(
        "--allow-host",
        metavar="HOST",
        action="append",
        default=[],
        help="host name under which a proxy shows the app, better with its port (hub.example:443), as other ports may "
        "be other people's; can be repeated",
    )
    parser.set_defaults(function=_app)


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError("a port lies between 0 and 65535")
    return number


def _app(options: argparse.Namespace) -> int:
    # Searches for garbage through all that is being imported take a sixth of the time of the start.
    with contextlib.ExitStack() as start:
        if gc.isenabled():
            start.callback(gc.enable)
        gc.disable()
        return _serve(options, served=start.close)


def _serve(options: argparse.Namespace, served: Callable[[], None]) -> int:
    import threading

    from dali_lab.model.extras import STUDIO, require

    require("studio", STUDIO, "the app")
    from dali_lab.studio.hosts.application import start_session
    from dali_lab.studio.server.access import LOOPBACK
    from dali_lab.studio.warming import Compiling

    access = _access(options)
    if options.ray is not None:
        require("ray", ("ray", "pyarrow"), "--ray")
        os.environ["RAY_ADDRESS"] = options.ray
    session = start_session(graph=options.graph, data=options.data, roots=options.root)
    compiling = Compiling()
    # Being told to end is the same as Ctrl-C: what is unsaved is kept. A shell starts programs in the background
    # with Ctrl-C ignored, so that is undone too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        from dali_lab.schema import registry
        from dali_lab.studio.hosts.app_server import AppServer
        from dali_lab.studio.hosts.opening import opened_in_browser

        server = AppServer(session, options.host, options.port or 0, access=access)
        try:
            address = server.url if options.password_file else server.address
            print(f"DALI Lab is at {address}   (Ctrl-C ends it)", flush=True)
            if options.host not in LOOPBACK:
                _print_address(server.port, access)
            shown = None if options.no_browser else server.address
            gc.freeze()  # a search through all that is imported by now would hold up a slider by 0.1 s
            with opened_in_browser(shown), contextlib.suppress(KeyboardInterrupt):
                # While the browser opens: the operators, which the page lists, and then the first preview.
                registry.load()
                session.warm()
                compiling.begin_later()
                served()
                threading.Event().wait()
        finally:
            _leave_soon(session)
            server.close()
    finally:
        compiling.end()
        _end(session)
    print()
    return 0


def _access(options: argparse.Namespace) -> Access:
    """Access to the app, by the options and the environment.

    Raises
    ------
    DaliLabError
        If the token is too short, or the password file cannot be used.
    """
    from dali_lab.studio.server.access import Access

    if options.keyfile and not options.certfile:
        raise DaliLabError("a key needs its certificate: give --certfile, too")
    token = options.token
    if options.password_file:
        token = password_in(Path(options.password_file))
    elif token is None:
        token = os.environ.get(TOKEN_VARIABLE) or None
    return Access(
        **({} if token is None else {"token": token}),
        prefix=options.prefix,
        names=tuple(options.allow_host),
        certificate=options.certfile and Path(options.certfile),
        private_key=options.keyfile and Path(options.keyfile),
    )


def password_in(path: Path) -> str:
    """The first line of a file that its owner alone can read.

    Raises
    ------
    DaliLabError
        If others can read it; OSError if nobody can.
    """
    with open(path, encoding="utf-8") as file:
        if sys.platform != "win32" and os.fstat(file.fileno()).st_mode & 0o077:
            raise DaliLabError(f"others can read {path}: take that from them with chmod 600")
        return file.readline().strip()


def _print_address(port: int, access: Access) -> None:
    print("Other machines reach this address; whoever has the token reads and writes files as you.", flush=True)
    if access.certificate is None:
        print(
            "Nothing is encrypted: give --certfile and --keyfile, or leave --host away and reach the app through "
            f"'ssh -L {port}:localhost:{port}' and the host.",
            flush=True,
        )


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
        reason = session.store.keep()
        told = "kept, and opens with the next 'dali-lab app'" if reason is None else f"lost: {reason}"
        print(f"\nWhat was not saved is {told}.", end="")
