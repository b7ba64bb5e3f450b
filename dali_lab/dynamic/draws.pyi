"""Operators on tensors and batches; written by ``python -m dali_lab.dynamic.stub``."""

# mypy: disable-error-code="overload-overlap"
# The first signature is for calls without a batch, the second for all others: it takes tensors as well.

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, overload

from dali_lab.dynamic.batch import Batch as Batch
from dali_lab.dynamic.modes import EvalContext as EvalContext
from dali_lab.dynamic.reader import Reader
from dali_lab.dynamic.tensor import Tensor as Tensor
from dali_lab.dynamic.values import Value

class _Array(Protocol):
    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...

_Path: TypeAlias = str | PathLike[str]
class _DeviceArray(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

class _OneArray(Protocol):  # not a list of tensors of a pipeline, which is a batch
    @property
    def shape(self) -> Sequence[int]: ...
    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...

_Plain: TypeAlias = float | list[Any] | tuple[Any, ...]
_One: TypeAlias = Tensor | _Plain | _OneArray | _DeviceArray
_Data: TypeAlias = Value | _Plain | _Array | _DeviceArray
_Results = TypeVar("_Results")

class _Reader(Reader, Generic[_Results]):
    @overload
    def next_epoch(
        self, batch_size: int, ctx: EvalContext | None = None, capture: builtins.bool = False
    ) -> Iterator[_Results]: ...
    @overload
    def next_epoch(
        self, batch_size: int | None = None, ctx: EvalContext | None = None, capture: builtins.bool = False
    ) -> Iterator[Any]: ...

@overload
def beta(shape_like: _One | None = None, /, *, alpha: float | _One = 1.0, beta: float | _One = 1.0, shape: int | Sequence[int] | _One | None = None, dtype: Any = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: None = None, rng: Any = None, device: Any = None) -> Tensor: ...
@overload
def beta(shape_like: _Data | None = None, /, *, alpha: float | _Data = 1.0, beta: float | _Data = 1.0, shape: int | Sequence[int] | _Data | None = None, dtype: Any = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: int | None = None, rng: Any = None, device: Any = None) -> Batch: ...
@overload
def choice(a: _One, shape_like: _One | None = None, /, *, p: float | Sequence[float] | _One | None = None, shape: int | Sequence[int] | _One | None = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: None = None, rng: Any = None, device: Any = None) -> Tensor: ...
@overload
def choice(a: _Data, shape_like: _Data | None = None, /, *, p: float | Sequence[float] | _Data | None = None, shape: int | Sequence[int] | _Data | None = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: int | None = None, rng: Any = None, device: Any = None) -> Batch: ...
@overload
def coin_flip(shape_like: _One | None = None, /, *, probability: float | _One = 0.5, shape: int | Sequence[int] | _One | None = None, dtype: Any = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: None = None, rng: Any = None, device: Any = None) -> Tensor: ...
@overload
def coin_flip(shape_like: _Data | None = None, /, *, probability: float | _Data = 0.5, shape: int | Sequence[int] | _Data | None = None, dtype: Any = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: int | None = None, rng: Any = None, device: Any = None) -> Batch: ...
@overload
def normal(shape_like: _One | None = None, /, *, mean: float | _One = 0.0, stddev: float | _One = 1.0, shape: int | Sequence[int] | _One | None = None, dtype: Any = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: None = None, rng: Any = None, device: Any = None) -> Tensor: ...
@overload
def normal(shape_like: _Data | None = None, /, *, mean: float | _Data = 0.0, stddev: float | _Data = 1.0, shape: int | Sequence[int] | _Data | None = None, dtype: Any = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: int | None = None, rng: Any = None, device: Any = None) -> Batch: ...
@overload
def uniform(shape_like: _One | None = None, /, *, range: float | Sequence[float] | _One = (-1.0, 1.0), values: float | Sequence[float] | _One | None = None, shape: int | Sequence[int] | _One | None = None, dtype: Any = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: None = None, rng: Any = None, device: Any = None) -> Tensor: ...
@overload
def uniform(shape_like: _Data | None = None, /, *, range: float | Sequence[float] | _Data = (-1.0, 1.0), values: float | Sequence[float] | _Data | None = None, shape: int | Sequence[int] | _Data | None = None, dtype: Any = None, seed: int = -1, name: str | None = None, preserve: builtins.bool = False, bytes_per_sample_hint: int | Sequence[int] | _Array = (0,), on_error: str | None = None, batch_size: int | None = None, rng: Any = None, device: Any = None) -> Batch: ...
