"""Random numbers: generators, and the operators that draw from them."""

from __future__ import annotations

import random as _random
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.dynamic.namespace import namespace
from dali_lab.kernels.streams import STATE_WORDS

__path__: list[str] = []
_local = threading.local()
_STATE = re.compile(r"Philox_([0-9A-F]{16})_([0-9A-F]{16}):([0-9A-F]{16})_([0-3])", re.IGNORECASE)
_WORD = (1 << 64) - 1


def _block(*words: np.uint64) -> Any:
    """Four random words, by the Python text of the kernel."""
    from dali_lab.kernels.cpu.philox import philox_block

    return getattr(philox_block, "py_func", philox_block)(*words)


class RNG:
    """A generator of random numbers for operators: Philox 4x32 with 10 rounds, as NVIDIA DALI's.

    Each call of an operator takes the state of a generator of its own from it, which is seven integers. Calling it
    gives the next integer of 32 bits.

    Parameters
    ----------
    seed
        64 bits; by default another one each time.
    state
        A value of :attr:`state`, to go on from there.

    Raises
    ------
    ValueError
        If both are given, or `state` is none.
    """

    def __init__(self, seed: int | None = None, state: Any = None) -> None:
        if seed is not None and state is not None:
            raise ValueError("seed and state cannot both be given")
        self._key = self._high = self._position = 0
        if state is not None:
            self.set_state(state)
        else:
            self.seed = _random.getrandbits(64) if seed is None else seed

    def __call__(self) -> int:
        """The next integer of 32 bits."""
        block = _block(*(np.uint64(each) for each in (self._key, self._high, self._position >> 2)))
        word = int(block[self._position & 3])
        self.advance(1)
        return word

    @property
    def seed(self) -> int:
        """The seed can be set, which begins the sequence anew; it cannot be read."""
        raise AttributeError("the seed of a generator cannot be read; its state can")

    @seed.setter
    def seed(self, value: int) -> None:
        self._key, self._high, self._position = value & _WORD, 0, 0

    def advance(self, n: int) -> None:
        """Leave out `n` numbers."""
        if n < 0:
            raise ValueError("a generator cannot go back")
        position = self._position + n
        self._high = (self._high + (position >> 66)) & _WORD
        self._position = position & ((1 << 66) - 1)

    def clone(self) -> RNG:
        """Another generator that goes on with the same numbers."""
        return RNG(state=self.state)

    @property
    def state(self) -> str:
        """The state of the generator, as text."""
        return f"Philox_{self._key:016X}_{self._high:016X}:{self._position >> 2:016X}_{self._position & 3}"

    @state.setter
    def state(self, value: object) -> None:
        self.set_state(value)

    def get_state(self, *, cuda_stream: object = None) -> str:
        """The same as :attr:`state`."""
        return self.state

    def set_state(self, value: object) -> None:
        """Go on from a state that :attr:`state` gave.

        Raises
        ------
        ValueError
            If it is none.
        """
        found = _STATE.fullmatch(str(value))
        if found is None:
            raise ValueError(f"{value!r} is not the state of a generator, such as 'Philox_<key>_<high>:<low>_<phase>'")
        key, high, low = (int(part, 16) for part in found.groups()[:3])
        self._key, self._high, self._position = key, high, low * 4 + int(found[4])

    def __repr__(self) -> str:
        return f"RNG(state='{self.state}')"


def get_default_rng() -> RNG:
    """The generator of this thread for operators that are given none."""
    if not hasattr(_local, "rng"):
        _local.rng = RNG()
    found: RNG = _local.rng
    return found


def set_seed(seed: int) -> None:
    """Begin the sequence of this thread's default generator anew."""
    get_default_rng().seed = seed


def drawn_state(rng: object) -> tuple[int, ...]:
    """The state of the generator of one call of an operator: the next integers of the one that is given.

    Raises
    ------
    ValueError
        If `rng` is no generator.
    """
    if rng is not None and not isinstance(rng, RNG):
        raise ValueError(f"rng must be a generator (RNG), got {type(rng).__name__}")
    generator = rng or get_default_rng()
    return tuple(generator() for _ in range(STATE_WORDS))


if TYPE_CHECKING:
    from dali_lab.dynamic.draws import *  # noqa: F403  (a stub of the operators, which are made from their declarations)
else:

    def __getattr__(name: str) -> Any:
        return namespace.attribute(sys.modules[__name__], name)


def __dir__() -> list[str]:
    return namespace.names(sys.modules[__name__])
