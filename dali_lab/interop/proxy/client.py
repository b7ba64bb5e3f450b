"""The side of the proxy that runs in workers: references in place of outputs, and how inputs get to the server."""

from __future__ import annotations

import os
import pickle
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from multiprocessing.connection import Client, Connection
from typing import Any

from torch.utils.data._utils.collate import default_collate_fn_map

from dali_lab.model.incoming import to_array

BatchId = tuple[int, str, int]
# The runs that something in this process still refers to: the outputs of others need not be kept.
live_runs: weakref.WeakValueDictionary[BatchId, DALIPipelineRunRef] = weakref.WeakValueDictionary()


@dataclass(eq=False)
class DALIPipelineRunRef:
    """One run of the pipeline that was or will be asked for.

    Attributes
    ----------
    batch_id
        Process, a word of its own, and a number.
    call_args
        Samples of each input; empty once they were sent.
    is_scheduled
        Whether they were sent.
    is_complete
        Whether no samples come any more.
    """

    batch_id: BatchId
    call_args: dict[str, list[Any]] = field(default_factory=dict)
    is_scheduled: bool = False
    is_complete: bool = False

    def __post_init__(self) -> None:
        live_runs[self.batch_id] = self

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        live_runs[self.batch_id] = self


@dataclass(eq=False)
class DALIOutputSampleRef:
    """One sample of one output of a run."""

    proxy: Proxy
    pipe_run_ref: DALIPipelineRunRef
    output_idx: int
    sample_idx: int


@dataclass(eq=False)
class DALIOutputBatchRef:
    """One output of a run; :meth:`DALIServer.produce_data` puts a tensor in its place."""

    pipe_run_ref: DALIPipelineRunRef
    output_idx: int


def _collate(samples: Sequence[DALIOutputSampleRef], *, collate_fn_map: object = None) -> DALIOutputBatchRef:
    first = samples[0]
    run = first.pipe_run_ref
    if any(sample.pipe_run_ref is not run or sample.output_idx != first.output_idx for sample in samples):
        raise RuntimeError("the samples of a batch must come from one run of one proxy, and from the same output of it")
    if not run.is_complete:
        run.is_complete = True
        # A sample that failed before it was collated has left its inputs behind.
        chosen = [sample.sample_idx for sample in samples]
        run.call_args = {name: [values[index] for index in chosen] for name, values in run.call_args.items()}
    if not run.is_scheduled and not first.proxy.deterministic:
        first.proxy.send(run)
    return DALIOutputBatchRef(run, first.output_idx)


default_collate_fn_map[DALIOutputSampleRef] = _collate


@dataclass
class _ThreadState:
    """State of a process and thread: its connection, and the run that samples are being added to."""

    word: str
    connection: Connection | None = None
    run: DALIPipelineRunRef | None = None
    runs: int = 0
    samples: int = 0


class Proxy:
    """Stands for the pipeline: called with the inputs of a sample, it gives references to the outputs.

    Parameters
    ----------
    inputs
        Names of the pipeline's inputs. One input can be given by position, several only by name.
    outputs
        Number of the pipeline's outputs.
    address, key
        Address and key of the server.
    deterministic
        Let the main process start the runs, in the order in which it takes batches.
    """

    def __init__(self, inputs: Sequence[str], outputs: int, address: Any, key: bytes, deterministic: bool) -> None:
        kind = Parameter.POSITIONAL_OR_KEYWORD if len(inputs) == 1 else Parameter.KEYWORD_ONLY
        self.__signature__ = Signature([Parameter(name, kind) for name in inputs])
        self.deterministic = deterministic
        self._outputs = outputs
        self._address = address
        self._key = key
        self._here: dict[tuple[int, int], _ThreadState] = {}
        self._submit: Callable[[BatchId, Mapping[str, list[Any]]], None] | None = None
        self._home = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_here": {}, "_submit": None}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """References to the outputs for one sample.

        Raises
        ------
        ValueError
            If the arguments are not the pipeline's inputs.
        """
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            given = ", ".join(
                [*(type(item).__name__ for item in args), *(f"{k}={type(v).__name__}" for k, v in kwargs.items())]
            )
            raise ValueError(f"Expected signature is: {self.__signature__}. Got: ({given}), error: {error}") from None
        here = self._state()
        if here.run is None or here.run.is_complete:
            here.run = DALIPipelineRunRef((os.getpid(), here.word, here.runs))
            here.runs += 1
            here.samples = 0
        for name, value in bound.arguments.items():
            here.run.call_args.setdefault(name, []).append(value)
        references = tuple(DALIOutputSampleRef(self, here.run, index, here.samples) for index in range(self._outputs))
        here.samples += 1
        return references[0] if len(references) == 1 else references

    def _state(self) -> _ThreadState:
        key = (os.getpid(), threading.get_ident())
        return self._here.setdefault(key, _ThreadState(secrets.token_hex(4)))

    def send(self, run: DALIPipelineRunRef) -> None:
        """Send the inputs of a run to the server."""
        data = {name: [to_array(value) for value in values] for name, values in run.call_args.items()}
        run.call_args = {}
        run.is_scheduled = True
        if self._submit is not None and os.getpid() == self._home:
            self._submit(run.batch_id, data)
            return
        here = self._state()
        if here.connection is None:
            here.connection = Client(self._address, authkey=self._key)
        here.connection.send_bytes(pickle.dumps((run.batch_id, data), pickle.HIGHEST_PROTOCOL))
