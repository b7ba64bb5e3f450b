"""Augmentations: functions over nodes whose parameter follows from a magnitude bin."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from dali_lab.auto_aug.core.magnitudes import SignedBin, signed_bin
from dali_lab.auto_aug.core.nodes import constant
from dali_lab.graph.recorder import DataNode
from dali_lab.model.errors import ArgumentError, ArgumentTypeError

_OWN = 2
"""Leading parameters of an augmentation's function: the samples and the parameter."""
_SETTINGS = ("mag_range", "mag_to_param", "randomly_negate", "param_device", "name")
_kept: Any = object()


class MissingArgumentError(ArgumentError):
    """A function needs arguments that the call did not give."""

    def __init__(self, message: str, augmentation: Augmentation, missing_args: list[str]) -> None:
        super().__init__(message, argument=missing_args[0])
        self.augmentation = augmentation
        self.missing_args = missing_args


class Augmentation:
    """A function over nodes that is called with a magnitude bin instead of its parameter.

    Made by :func:`augmentation`; see there for the settings.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        mag_range: tuple[float, float] | npt.NDArray[Any] | None = None,
        randomly_negate: bool | None = None,
        mag_to_param: Callable[[Any], npt.ArrayLike] | None = None,
        param_device: str | None = None,
        name: str | None = None,
    ) -> None:
        self.op = op
        self.mag_range: Any = mag_range
        self.randomly_negate = bool(randomly_negate)
        self.mag_to_param: Callable[[Any], npt.ArrayLike] = mag_to_param or np.array
        self.param_device = param_device or "cpu"
        self.name = str(name or getattr(op, "__name__", repr(op)))
        self._settings: dict[str, Any] = dict(
            zip(_SETTINGS, (mag_range, mag_to_param, randomly_negate, param_device, name), strict=True)
        )
        places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        count = sum(parameter.kind in places for parameter in inspect.signature(op).parameters.values())
        if count < _OWN:
            raise ArgumentTypeError(
                f"The {op} accepts {count} positional argument(s), but the functions decorated with `@augmentation`"
                " must accept at least two positional arguments: the samples and parameters"
            )

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self._settings.items() if value is not None]
        return f"Augmentation({', '.join([repr(self.op), *given])})"

    def augmentation(
        self,
        mag_range: object = _kept,
        randomly_negate: object = _kept,
        mag_to_param: object = _kept,
        param_device: object = _kept,
        name: object = _kept,
        augmentation_cls: type[Augmentation] | None = None,
    ) -> Augmentation:
        """The same function with some settings changed."""
        given = zip(_SETTINGS, (mag_range, mag_to_param, randomly_negate, param_device, name), strict=True)
        changed: dict[str, Any] = {key: value for key, value in given if value is not _kept}
        return (augmentation_cls or type(self))(self.op, **{**self._settings, **changed})

    def __call__(
        self,
        data: Any,
        *,
        magnitude_bin: int | DataNode | SignedBin | None = None,
        num_magnitude_bins: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call the function with the parameter of a magnitude bin.

        Parameters
        ----------
        data
            The node to augment.
        magnitude_bin
            A bin from 0 to ``num_magnitude_bins - 1``, one for all or a node, with or without a sign.
        num_magnitude_bins
            Number of bins that the range is cut into.
        kwargs
            Passed on as far as the function takes them.

        Raises
        ------
        MissingArgumentError
            If the function needs an argument that is not given.
        ArgumentError
            If bin and number of bins do not fit the range.
        """
        device = self.param_device
        if device == "auto":
            device = getattr(data, "device", None) or "cpu"
        parameter = self._parameter(magnitude_bin, num_magnitude_bins, device)
        missing = [name for name in needed_arguments(self.op) if name not in kwargs]
        if missing:
            message = (
                f"The augmentation `{self.name}` requires following named argument(s) which were not provided to the"
                f" call: {', '.join(missing)}"
            )
            raise MissingArgumentError(message, self, missing)
        accepted = accepted_arguments(self.op)
        return self.op(data, parameter, **{name: value for name, value in kwargs.items() if name in accepted})

    def _get_magnitudes(self, count: int | None) -> Any:
        """The magnitude of each bin, or `None` where there is no range."""
        range_ = self.mag_range
        if range_ is None:
            return None
        if isinstance(range_, np.ndarray):
            if count is not None and len(range_) != count:
                raise ArgumentError(
                    f"The augmentation `{self.name}` has nd.array of length {len(range_)} specified as the `mag_range`."
                    f" However, the `num_magnitude_bins` passed to the call is {count}",
                    argument="num_magnitude_bins",
                )
            return range_
        if count is None:
            raise ArgumentError(
                f"The `num_magnitude_bins` argument is missing in the call of the `{self.name}` augmentation."
                " Please specify the `num_magnitude_bins` along with the samples and magnitude_bin.",
                argument="num_magnitude_bins",
            )
        pair = range_ if isinstance(range_, (tuple, list)) else ()
        if len(pair) != 2 or not all(isinstance(end, (int, float, np.number)) and np.isfinite(end) for end in pair):
            raise ArgumentError(
                "The `mag_range` must be a tuple of (low, high) ends of magnitude range or nd.array of explicitly"
                f" defined magnitudes. Got `{range_}` for augmentation `{self.name}`",
                argument="mag_range",
            )
        return np.linspace(range_[0], range_[1], count, dtype=np.float32)

    def _parameter(self, bin_: Any, count: int | None, device: str) -> Any:
        """A node with each sample's parameter, or a constant, or `None`."""
        magnitudes = self._get_magnitudes(count)
        if magnitudes is None:
            return None
        if bin_ is None:
            raise ArgumentError(
                f"The augmentation `{self.name}` has `mag_range` specified, so when called, it requires `magnitude_bin`"
                " parameter to select the magnitude from the `mag_range`",
                argument="magnitude_bin",
            )
        self._check_bin(bin_.bin if isinstance(bin_, SignedBin) else bin_, len(magnitudes))
        if not self.randomly_negate:
            own = bin_.bin if isinstance(bin_, SignedBin) else bin_
            if isinstance(own, int):
                return constant(self._map_mag_to_param(magnitudes[own]), device=device)
            return constant(self._map_mags_to_params(magnitudes), device=device)[own]
        if not isinstance(bin_, SignedBin):
            warnings.warn(
                f"The augmentation `{self.name}` was declared with `random_negate=True`, but unsigned `magnitude_bin`"
                " was passed to the augmentation call; make the bin with signed_bin() before samples part ways, so that"
                " signs are drawn once",
                stacklevel=3,
            )
            bin_ = signed_bin(bin_)
        index = bin_.signed_magnitude_idx
        if isinstance(bin_.bin, int):
            magnitudes, index = [magnitudes[bin_.bin]], bin_.random_sign
        both = [sign * magnitude for magnitude in magnitudes for sign in (1, -1)]
        return constant(self._map_mags_to_params(np.array(both)), device=device)[index]

    def _check_bin(self, bin_: object, count: int) -> None:
        if isinstance(bin_, DataNode):
            return
        if not isinstance(bin_, (int, np.integer)) or not 0 <= bin_ < count:
            raise ArgumentError(
                f"The `magnitude_bin` of '{self.name}' must be an int or a node of ints from `[0..{count - 1}]` range."
                f" Got {bin_!r} instead",
                argument="magnitude_bin",
            )

    def _map_mag_to_param(self, magnitude: float) -> npt.NDArray[Any]:
        made = self.mag_to_param(magnitude)
        parts = made if isinstance(made, (list, tuple)) else (made,)
        if any(isinstance(part, DataNode) for part in parts):
            raise ArgumentTypeError(
                f"of '{self.name}' gives a node: the callback must return parameter that is `np.ndarray` or a number,"
                " as it is computed once and kept",
                argument="mag_to_param",
            )
        return np.array(made)

    def _map_mags_to_params(self, magnitudes: Iterable[Any]) -> npt.NDArray[Any]:
        rows = [self._map_mag_to_param(magnitude) for magnitude in magnitudes]
        for row in rows[1:]:
            if (row.shape, row.dtype) != (rows[0].shape, rows[0].dtype):
                raise ArgumentError(
                    f"of '{self.name}': the callback of an augmentation must return the arrays of the same type and"
                    f" shape for all magnitudes. One has shape {rows[0].shape} and type {rows[0].dtype}, another has"
                    f" shape {row.shape} and type {row.dtype}.",
                    argument="mag_to_param",
                )
        return np.array(rows)


@overload
def augmentation(function: Callable[..., Any]) -> Augmentation: ...


@overload
def augmentation(
    function: None = None,
    *,
    mag_range: tuple[float, float] | npt.NDArray[Any] | None = None,
    randomly_negate: bool | None = None,
    mag_to_param: Callable[[Any], npt.ArrayLike] | None = None,
    param_device: str | None = None,
    name: str | None = None,
    augmentation_cls: type[Augmentation] | None = None,
) -> Callable[[Callable[..., Any]], Augmentation]: ...


def augmentation(
    function: Callable[..., Any] | None = None,
    *,
    mag_range: tuple[float, float] | npt.NDArray[Any] | None = None,
    randomly_negate: bool | None = None,
    mag_to_param: Callable[[Any], npt.ArrayLike] | None = None,
    param_device: str | None = None,
    name: str | None = None,
    augmentation_cls: type[Augmentation] | None = None,
) -> Augmentation | Callable[[Callable[..., Any]], Augmentation]:
    """Make an augmentation of a function over nodes.

    Parameters
    ----------
    function
        Takes the samples and a parameter, and more by name if it likes; returns the augmented samples.
    mag_range
        Two ends of a range that is cut evenly into bins, or an array with the magnitude of each bin. Without it the
        parameter is `None`.
    randomly_negate
        Negate the magnitude of each sample or not, at random.
    mag_to_param
        Makes the parameter of a magnitude: numbers, of the same type and shape for all magnitudes.
    param_device
        Device of the parameters: ``"cpu"`` (the default), ``"gpu"``, or ``"auto"`` for where the samples are.
    name
        The function's name by default.
    augmentation_cls
        A subclass of :class:`Augmentation` to make.

    Raises
    ------
    ArgumentTypeError
        If `function` is no function, is an augmentation already, or takes too few arguments.
    """

    def wrapped(op: Callable[..., Any]) -> Augmentation:
        if not callable(op):
            raise ArgumentTypeError(
                f"The `@augmentation` decorator was used to decorate the object that is not callable: {op!r}"
            )
        if isinstance(op, Augmentation):
            raise ArgumentTypeError(
                "The `@augmentation` was applied to already decorated Augmentation. Change the settings of"
                f" '{op.name}' by its method 'augmentation'"
            )
        kind = augmentation_cls or Augmentation
        return kind(op, mag_range, randomly_negate, mag_to_param, param_device, name)

    return wrapped if function is None else wrapped(function)


def accepted_arguments(op: Callable[..., Any]) -> list[str]:
    """Names that a function takes besides the samples and the parameter."""
    return [parameter.name for parameter in _named(op)]


def needed_arguments(op: Callable[..., Any]) -> list[str]:
    """Names of arguments that a function needs besides the samples and the parameter."""
    return [parameter.name for parameter in _named(op) if parameter.default is inspect.Parameter.empty]


def _named(op: Callable[..., Any]) -> list[inspect.Parameter]:
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = enumerate(inspect.signature(op).parameters.values())
    return [p for place, p in parameters if p.kind in by_name and (place >= _OWN or p.kind not in by_place)]


def forbid_unused(augmentations: Iterable[Augmentation], kwargs: Mapping[str, Any], caller: str) -> None:
    """Raise if an argument is taken by none of the augmentations."""
    used = {name for one in augmentations for name in accepted_arguments(one.op)}
    unused = [name for name in kwargs if name not in used]
    if unused:
        plural = "s" if unused[1:] else ""
        names = f"kwarg{plural} `{', '.join(unused)}` {'are' if plural else 'is'}"
        message = f"The {caller} got unexpected kwarg{plural}. The {names} not used by any of the augmentations."
        raise ArgumentError(message, argument=unused[0])
