"""A ``DataLoader`` that puts the outputs of a DALI server in place of references by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch.utils.data

from dali_lab.interop.proxy.server import DALIServer


class DataLoader(torch.utils.data.DataLoader[Any]):
    """torch's ``DataLoader``, with the server as first argument; it starts and stops a server that is not running."""

    def __init__(self, dali_server: DALIServer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dali_server = dali_server
        self.server_started_by_loader = False

    def ensure_server_listening(self) -> None:
        """Start the server if it is not running."""
        if not self.dali_server._is_thread_running():
            self.dali_server.start_thread()
            self.server_started_by_loader = True

    def __iter__(self) -> Any:
        self.ensure_server_listening()
        return Batches(super().__iter__(), self.dali_server)

    def __del__(self) -> None:
        if getattr(self, "server_started_by_loader", False):
            self.dali_server.stop_thread()


class Batches:
    """Batches of a loader with outputs in place of references."""

    def __init__(self, batches: Iterator[Any], server: DALIServer) -> None:
        self._batches = batches
        self._server = server

    def __iter__(self) -> Batches:
        return self

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type]

    def __next__(self) -> Any:
        return self._server.produce_data(next(self._batches))
