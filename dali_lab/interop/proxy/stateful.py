"""``torchdata``'s ``StatefulDataLoader`` with a DALI server: its state goes on exactly in mid-epoch, with workers."""

from __future__ import annotations

import base64
from typing import Any

from torchdata.stateful_dataloader import StatefulDataLoader as _StatefulDataLoader

from dali_lab.interop.proxy.loader import Batches
from dali_lab.interop.proxy.server import DALIServer
from dali_lab.model.errors import FormatError

_PIPELINE = "dali_pipeline"


class StatefulDataLoader(_StatefulDataLoader[Any]):  # type: ignore[misc, unused-ignore]  # torchdata may not be there
    """torchdata's ``StatefulDataLoader`` over a server, its first argument, which it starts if it is not running.

    The state holds that of the loader, its sampler and its workers, and that of the pipeline. Where the pipeline draws
    random numbers or has sources of its own, batches have to reach it in the order in which they are taken, and its
    state has to be known: the server needs ``deterministic=True``, and its pipeline ``enable_checkpointing=True``.

    Parameters
    ----------
    dali_server
        The server whose proxy the dataset uses.
    *args, **kwargs
        Arguments of torchdata's class.
    """

    def __init__(self, dali_server: DALIServer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dali_server = dali_server
        self.server_started_by_loader = False

    def __iter__(self) -> Any:
        if not self.dali_server._is_thread_running():
            self.dali_server.start_thread()
            self.server_started_by_loader = True
        return Batches(super().__iter__(), self.dali_server)

    def state_dict(self) -> dict[str, Any]:
        """The state after the last batch that was taken.

        Raises
        ------
        ValueError
            If the pipeline draws random numbers or has sources of its own, and the server is not deterministic or the
            pipeline was made without ``enable_checkpointing=True``.
        """
        checkpoint = self.dali_server._checkpoint()
        return {
            **super().state_dict(),
            _PIPELINE: None if checkpoint is None else base64.b64encode(checkpoint).decode("ascii"),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on after the batch at which a state was taken; iteration that has begun must not be continued.

        Raises
        ------
        FormatError
            If the state is none of such a loader, or that of another pipeline.
        """
        state = dict(state_dict)
        try:
            text = state.pop(_PIPELINE)
            checkpoint = None if text is None else base64.b64decode(text, validate=True)
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"this is not a state of a loader with a DALI server ({error!r})") from None
        self.dali_server._go_on_from(checkpoint)
        super().load_state_dict(state)

    def __del__(self) -> None:
        if getattr(self, "server_started_by_loader", False):
            self.dali_server.stop_thread()
