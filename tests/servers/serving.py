"""A server of a test, on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def serving(serve: Serve, *, limit: int = 1 << 16) -> Iterator[str]:
    """The URL of a server on this machine, for as long as the context lasts.

    Parameters
    ----------
    serve
        Serves a connection.
    limit
        Bytes of a line, or of a header, at the most.
    """
    loop = asyncio.new_event_loop()

    async def begin() -> asyncio.Server:
        return await asyncio.start_server(serve, "127.0.0.1", 0, limit=limit)

    listening = loop.run_until_complete(begin())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:

        def end() -> None:
            listening.close()
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.call_soon(loop.stop)

        loop.call_soon_threadsafe(end)
        thread.join()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
