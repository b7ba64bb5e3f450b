"""Pipeline settings: checks the arguments of a pipeline and derives the engine's values from them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dali_lab.executor.bad_samples import DEFAULT_RATE, ON_ERROR, OnError
from dali_lab.executor.policies import OperatorConcurrency, StreamPolicy
from dali_lab.graph.settings import RANGES, checked
from dali_lab.io.locations import canonical, credentials_in
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import ArgumentError, ArgumentTypeError
from dali_lab.model.system import usable_cores
from dali_lab.model.user_code import user_line

NO_EFFECT = {
    "set_affinity": "threads are not bound to cores: chunks of one batch move between threads",
    "bytes_per_sample": "the memory of outputs is allocated once their shapes are known",
    "max_streams": "deprecated in NVIDIA DALI, where it has no effect either",
    "default_cuda_stream_priority": "deprecated in NVIDIA DALI, where it has no effect either",
    "stream_policy": "streams are ordered by events, whatever their number",
    "concurrency": "independent operators always run side by side",
    "exec_dynamic": "outputs always own their memory, and transfers are allowed anywhere in the graph",
}
_POLICIES = {"stream_policy": StreamPolicy, "concurrency": OperatorConcurrency}


@dataclass(frozen=True)
class Settings:
    """Checked arguments of :class:`dali_lab.Pipeline`; their meanings are documented there."""

    batch_size: int | None = None
    num_threads: int | None = None
    device_id: int | None = None
    seed: int | None = None
    exec_pipelined: bool = True
    exec_async: bool = True
    exec_dynamic: bool | None = None
    prefetch_queue_depth: int | Mapping[str, int] = 2
    bytes_per_sample: int = 0
    enable_memory_stats: bool = False
    enable_checkpointing: bool = False
    checkpoint: bytes | tuple[bytes, ...] | None = None
    py_num_workers: int = 1
    py_start_method: str = "fork"
    py_callback_pickler: Any = None
    output_dtype: Any = None
    output_ndim: Any = None
    output_layout: Any = None
    stream_policy: StreamPolicy | None = None
    concurrency: OperatorConcurrency | None = None
    gpu: str = "auto"
    optimize: bool = True
    on_error: OnError = "raise"
    max_error_rate: float = DEFAULT_RATE
    cache: str = "off"
    cache_limit: int | None = None
    cache_at: str | None = None
    cache_epochs: int | None = None
    cache_checksum: bool = False

    @property
    def separated(self) -> bool:
        """Whether separate depths for CPU and GPU were given."""
        return isinstance(self.prefetch_queue_depth, Mapping)

    @property
    def dynamic(self) -> bool:
        """The value of ``exec_dynamic`` in NVIDIA DALI."""
        if self.exec_dynamic is None:
            return self.exec_pipelined and self.exec_async and not self.separated
        return bool(self.exec_dynamic)

    @property
    def depths(self) -> tuple[int, int]:
        """Batches kept ahead on the CPU and on the GPU."""
        depth = self.prefetch_queue_depth
        if isinstance(depth, Mapping):
            return int(depth["cpu_size"]), int(depth["gpu_size"])
        return int(depth), int(depth)

    @property
    def ahead(self) -> int:
        """Number of batches that the first run starts."""
        return max(self.depths) if self.exec_pipelined else 1

    @property
    def executor_flags(self) -> int | None:
        """Both policies as NVIDIA DALI serializes them, if one was given."""
        if self.stream_policy is None and self.concurrency is None:
            return None
        return (self.stream_policy or StreamPolicy.UNSPECIFIED).value | (
            self.concurrency or OperatorConcurrency.BACKEND
        ).value

    @property
    def threads(self) -> int:
        """Threads to use: as many as requested, else as there are cores, up to 4."""
        return self.num_threads if self.num_threads is not None else min(4, usable_cores())

    def expectations(self, outputs: int) -> list[tuple[DALIDataType | None, int | None, str | None]]:
        """The required dtype, number of dimensions and layout of each output.

        Raises
        ------
        ArgumentError
            If a list does not have one item for each output.
        """
        columns = []
        for name in ("output_dtype", "output_ndim", "output_layout"):
            value = getattr(self, name)
            listed = list(value) if isinstance(value, (list, tuple)) else [value] * outputs
            if len(listed) != outputs:
                raise ArgumentError(
                    f"Lengths of provided output descriptions do not match. Expected num_outputs={outputs}."
                    f" Received: {name}={listed}",
                    argument=name,
                )
            columns.append(listed)
        return list(zip(*columns, strict=True))


def _chosen(name: str, value: object, known: Sequence[str]) -> str:
    if value not in known:
        raise ArgumentError(f"{value!r} is not one of {', '.join(map(repr, known))}", argument=name, origin=user_line())
    return str(value)


def _described(name: str, value: object, kind: type) -> Any:
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if item is not None and (not isinstance(item, kind) or isinstance(item, bool)):
            raise ArgumentTypeError(
                f"`{name}` must be either: {kind.__name__}, a list of these or None. Found type: {type(item)}",
                argument=name,
            )
        if item is DALIDataType.NO_TYPE:
            raise ArgumentError(f"`{name}` can't be a types.NO_TYPE", argument=name)
        if kind is int and isinstance(item, int) and item < 0:
            raise ArgumentError(f"`{name}` must be non-negative. Found value: {item}.", argument=name)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _as_bytes(checkpoint: Any) -> Any:
    return checkpoint.encode("latin-1") if isinstance(checkpoint, str) else checkpoint


def make_settings(given: Mapping[str, Any]) -> Settings:
    """Check the arguments of a pipeline.

    Raises
    ------
    ArgumentError
        With the name of the argument and the user's line.
    """
    values: dict[str, Any] = dict(given)
    if values.pop("experimental_exec_dynamic", None) is not None:
        warnings.warn("'experimental_exec_dynamic' is now called 'exec_dynamic'", DeprecationWarning, stacklevel=4)
        values["exec_dynamic"] = given["experimental_exec_dynamic"]
    for name in ("max_streams", "default_cuda_stream_priority"):
        if values.get(name) is not None:
            warnings.warn(f"The `{name}` is deprecated and has no effect.", DeprecationWarning, stacklevel=4)
    for name in NO_EFFECT:
        if name not in ("exec_dynamic", "bytes_per_sample", *_POLICIES):
            values.pop(name, None)
    for name, policy in _POLICIES.items():
        if values[name] is not None and not isinstance(values[name], policy):
            raise ArgumentTypeError(f"takes {policy.__name__}, got {values[name]!r}", argument=name, origin=user_line())
    try:
        for name in (name for name in RANGES if name in values):
            values[name] = checked(name, values[name])
    except ArgumentError as error:
        error.locate(origin=user_line())
        raise
    if (values["seed"] or 0) < 0:
        message = "The use of negative seed to use automatic seed asignment is deprecated. Use `None` instead."
        warnings.warn(message, UserWarning, stacklevel=4)
    for name in ("seed", "device_id"):
        values[name] = values[name] if (values[name] or 0) >= 0 else None
    if isinstance(values["prefetch_queue_depth"], Mapping) and not values["exec_async"]:
        raise ArgumentError("separate depths need exec_async=True", argument="prefetch_queue_depth")
    for name, default in (("prefetch_queue_depth", 2), ("bytes_per_sample", 0), ("py_num_workers", 1)):
        values[name] = default if values[name] is None else values[name]
    checkpoint = values["checkpoint"]
    several = isinstance(checkpoint, (list, tuple))
    if several and not checkpoint:
        raise ArgumentError("an empty list holds no checkpoints", argument="checkpoint", origin=user_line())
    values["checkpoint"] = tuple(map(_as_bytes, checkpoint)) if several else _as_bytes(checkpoint)
    if values["py_start_method"] not in ("fork", "spawn", "forkserver"):
        raise ArgumentError(f"{values['py_start_method']!r} is not one of 'fork', 'spawn'", argument="py_start_method")
    if values["py_callback_pickler"] is not None and values["py_start_method"] == "fork":
        raise ArgumentError("is not used with py_start_method='fork'", argument="py_callback_pickler")
    for name, kind in (("output_dtype", DALIDataType), ("output_ndim", int), ("output_layout", str)):
        values[name] = _described(name, values[name], kind)
    gpu = values["gpu"] or os.environ.get("DALI_LAB_GPU") or "auto"
    values["gpu"] = _chosen("gpu", gpu, ("auto", "require", "never", "emulated"))
    values["on_error"] = _chosen("on_error", values["on_error"], ON_ERROR)
    rate: Any = values["max_error_rate"]
    if isinstance(rate, bool) or not isinstance(rate, (int, float)):
        raise ArgumentTypeError(f"takes a number, got {rate!r}", argument="max_error_rate", origin=user_line())
    if not 0 <= rate <= 1:
        raise ArgumentError(f"{rate} is not in [0, 1]", argument="max_error_rate", origin=user_line())
    values["cache"] = _cache(values["cache"])
    if values["cache_at"] is not None and not isinstance(values["cache_at"], str):
        raise ArgumentTypeError(f"takes the name of a node, got {values['cache_at']!r:.60}", argument="cache_at")
    if not isinstance(values["cache_checksum"], bool):
        raise ArgumentTypeError(f"takes a bool, got {values['cache_checksum']!r:.60}", argument="cache_checksum")
    return Settings(**values)


def _cache(value: object) -> str:
    """``"off"``, ``"memory"``, the path of a folder, or its URL."""
    if value is None:
        return "off"
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(
            f'takes "off", "memory", a folder or a URL, got {value!r:.60}', argument="cache", origin=user_line()
        )
    text = os.fspath(value)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ArgumentError(
            f'{text!r:.200} is none of "off", "memory", a folder and a URL', argument="cache", origin=user_line()
        )
    if said := credentials_in(text):
        raise ArgumentError(
            f"the URL has {said}; keep credentials where the tools of the store look for them",
            argument="cache",
            origin=user_line(),
        )
    return canonical(text)
