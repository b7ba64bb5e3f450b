"""Positions of readers and generators, to go on from there in another process."""

from __future__ import annotations

import glob
import json
import re
import string
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dali_lab.dynamic.modes import EvalContext
from dali_lab.dynamic.reader import Reader

_VERSION = 2
_NUMBERED = "__op_"


class _Entry(NamedTuple):
    state: Any
    type_name: str | None = None


class Checkpoint:
    """States of readers (``readers.*``) and generators (:class:`~dali_lab.dynamic.random.RNG`).

    >>> checkpoint = Checkpoint()
    >>> checkpoint.register(reader, "reader")
    >>> checkpoint.register(generator, "generator")
    >>> checkpoint.collect()
    >>> checkpoint.save("state_{seq:04d}.json")

    In another process :meth:`load` comes first, and what is registered then goes on from its state. Files have NVIDIA
    DALI's form; states of readers are our own.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._objects: dict[str, Any] = {}
        self._states: dict[str, _Entry] = {}
        self._dirty: set[str] = set()
        self._complete = False
        self._loaded = False
        self._following: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the states are those that :meth:`collect` found."""
        return self._complete

    @property
    def is_loaded(self) -> bool:
        """Whether the states are those of a file or a text."""
        return self._loaded

    @property
    def names(self) -> tuple[str, ...]:
        """Names of registered objects."""
        return tuple(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, name: object) -> bool:
        return str(name) in self._objects

    def register(self, op: object, name: str | None = None) -> str:
        """Add a reader or a generator; a state that waits under its name is set.

        Parameters
        ----------
        op
            It has ``get_state`` and ``set_state``.
        name
            By default it is numbered.

        Returns
        -------
        str
            Its name.

        Raises
        ------
        KeyError
            If states were loaded, and there is none of this name.
        RuntimeError
            If it has another name already, or states were collected.
        TypeError
            If the state, or what had this name before, is of another class.
        ValueError
            If the name is empty or like those that are numbered.
        """
        if isinstance(op, Reader):
            op._enable_checkpointing()
        before = next((key for key, each in self._objects.items() if each is op), None)
        if name is None:
            key = before or f"{_NUMBERED}{len(self._objects)}"
        elif not name or name.startswith(_NUMBERED):
            raise ValueError(f"Manually assigned names must not be empty, nor start with '{_NUMBERED}', got {name!r}")
        elif before not in (None, name):
            raise RuntimeError(
                f"Cannot register the operator with a new key {name!r} when it's already been added with the key"
                f" {before!r}"
            )
        else:
            key = name
        if key not in self._objects:
            if self._complete:
                if name is None:
                    new = "a new operator into a checkpoint that has been completed via `collect`"
                else:
                    new = f"a new op {key!r} into a completed checkpoint"
                raise RuntimeError(f"Cannot register {new}. Call `clear` first: it begins anew")
            if self._loaded and key not in self._states:
                if name is None:
                    raise KeyError(
                        f"Loaded checkpoint has no state for the operator's key {key!r}. If your registration order"
                        " changed since the checkpoint was saved, use the named form `register(op, name)` instead."
                    )
                raise KeyError(f"Checkpoint was loaded but does not contain a state for {key!r}.")
        elif type(self._objects[key]) is not type(op):
            there = type(self._objects[key]).__qualname__
            raise TypeError(
                f"Cannot replace operator {key!r} of type {there!r} with an operator of type {type(op).__qualname__!r}"
            )
        self._objects[key] = op
        self._apply(key)
        return key

    def get_state(self, name: str) -> Any:
        """The state under a name; `None` without one.

        Raises
        ------
        KeyError
            If nothing is registered under it.
        """
        if str(name) not in self._objects:
            raise KeyError(f"No op registered under {str(name)!r}.")
        entry = self._states.get(str(name))
        return None if entry is None else entry.state

    def set_state(self, name: str, value: object, op_type: type | str | None = None) -> None:
        """Keep a state, for :meth:`register` or :meth:`restore` to set it.

        Parameters
        ----------
        op_type
            The class that it is for, or its name.

        Raises
        ------
        KeyError
            If states were collected, and none under this name.
        TypeError
            If `op_type` is no class.
        """
        if self._complete and str(name) not in self._objects:
            raise KeyError(f"No operator registered under {str(name)!r}.")
        if op_type is not None and not isinstance(op_type, (str, type)):
            raise TypeError(f"`op_type` must be a class or a string, got {op_type!r}")
        self._states[str(name)] = _Entry(value, op_type.__qualname__ if isinstance(op_type, type) else op_type)
        self._dirty.add(str(name))

    def collect(self) -> None:
        """Ask everything that is registered for its state.

        Raises
        ------
        RuntimeError
            If there are states of what is not registered.
        """
        self._check_registered()
        self._states = {key: _Entry(each.get_state(), type(each).__qualname__) for key, each in self._objects.items()}
        self._dirty.clear()
        self._complete, self._loaded = True, False

    def restore(self) -> None:
        """Set all states that wait.

        Raises
        ------
        RuntimeError
            If there are states, but not for just what is registered.
        """
        if not self._states:
            return
        self._check_registered()
        missing = sorted(self._objects.keys() - self._states.keys())
        if missing:
            raise RuntimeError(f"Checkpoint state is incomplete - missing entries for {missing}")
        for key in list(self._dirty):
            self._apply(key)

    def serialize(self) -> str:
        """The states as text (JSON).

        Raises
        ------
        RuntimeError
            If there are none.
        """
        if not self._states:
            raise RuntimeError("Cannot serialize an empty checkpoint. Call `collect` (or `set_state`) first")
        states = {key: {"state": str(entry.state), "type": entry.type_name} for key, entry in self._states.items()}
        return json.dumps({"version": _VERSION, "states": states})

    def deserialize(self, data: str) -> None:
        """Take the states of a text that :meth:`serialize` made; they wait for what will be registered.

        Raises
        ------
        ValueError
            If the text is another one.
        """
        found = json.loads(data)
        if not isinstance(found, dict) or not isinstance(found.get("states"), dict):
            raise ValueError("Invalid checkpoint payload")
        if found.get("version", 0) != _VERSION:
            raise ValueError(f"Unsupported checkpoint format version {found.get('version', 0)}; expected {_VERSION}")
        entries = {}
        for key, value in found["states"].items():
            if not isinstance(value, dict) or "state" not in value:
                raise ValueError(f"Invalid checkpoint entry for {key!r}: it has no state")
            if not isinstance(value.get("type"), (str, type(None))):
                raise ValueError(f"Invalid `type` for entry {key!r}: expected a string")
            entries[key] = _Entry(str(value["state"]), value.get("type"))
        self._states, self._dirty = entries, set(entries)
        self._complete, self._loaded = False, True

    def save(self, filename: str) -> str:
        """Write the states to a file that does not exist.

        Parameters
        ----------
        filename
            With ``{seq}`` or ``{seq:04d}`` in it, where the next number goes.

        Returns
        -------
        str
            The path.
        """
        number = self._following
        if number is None:
            number = max((found for found, _ in _numbered(filename)), default=-1) + 1
        while Path(filename.format(seq=number)).exists():
            number += 1
        data = self.serialize()
        path = Path(filename.format(seq=number))
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".tmp")
        new.write_text(data, encoding="utf-8")
        new.replace(path)
        self._following = number + 1
        return filename.format(seq=number)

    def load(self, filename: str) -> str:
        """Take the states of the file with the highest number.

        Parameters
        ----------
        filename
            As for :meth:`save`.

        Returns
        -------
        str
            The path.

        Raises
        ------
        FileNotFoundError
            If there is none.
        """
        files = sorted(_numbered(filename))
        if not files:
            raise FileNotFoundError(f"No checkpoint file matches filename {filename!r}")
        number, path = files[-1]
        self.deserialize(Path(path).read_text(encoding="utf-8"))
        self._following = number + 1
        return path

    def _check_registered(self) -> None:
        unknown = sorted(self._states.keys() - self._objects.keys())
        if unknown:
            raise RuntimeError(f"Checkpoint state has entries with no corresponding registered ops: {unknown}")

    def _apply(self, key: str) -> None:
        if key not in self._dirty:
            return
        entry, target = self._states[key], self._objects[key]
        if entry.type_name not in (None, type(target).__qualname__):
            raise TypeError(
                f"Type mismatch for operator {key!r}: checkpoint stores state for type {entry.type_name!r}, but the"
                f" registered operator is of type {type(target).__qualname__!r}"
            )
        target.set_state(entry.state)
        self._dirty.discard(key)


def _numbered(filename: str) -> Iterator[tuple[int, str]]:
    """Files that a name with ``{seq}`` in it stands for, with their numbers."""
    wanted = expression = ""
    fields = 0
    for text, field, _, _ in string.Formatter().parse(filename):
        wanted += glob.escape(text)
        expression += re.escape(text)
        if field is not None:
            if field != "seq":
                raise ValueError(f"Unsupported field {{{field}}} in checkpoint pattern. Only `{{seq}}` is allowed")
            fields += 1
            wanted += "*"
            expression += r"(\d+)"
    if fields != 1:
        problem = "Checkpoint pattern must include `{seq}`" if not fields else "`{seq}` may appear at most once"
        raise ValueError(f"{problem}: {filename!r}")
    for path in glob.iglob(wanted):
        match = re.fullmatch(expression, path)
        if match is not None:
            yield int(match[1]), path


_of_contexts: weakref.WeakKeyDictionary[EvalContext, Checkpoint] = weakref.WeakKeyDictionary()


def current() -> Checkpoint:
    """The checkpoint of the context that is entered."""
    return of_context(EvalContext.current())


def of_context(context: EvalContext) -> Checkpoint:
    """The checkpoint of a context."""
    return _of_contexts.setdefault(context, Checkpoint())


EvalContext.checkpoint = property(of_context)

__all__ = ["Checkpoint", "current"]
