"""The state of a running pipeline as bytes: plain JSON, with nothing in it that could run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dali_lab.model.errors import FormatError

FORMAT = "dali-lab checkpoint"
VERSION = 1


@dataclass(frozen=True)
class Checkpoint:
    """Position of a pipeline between two batches.

    Attributes
    ----------
    operators
        Operator of each node with state, to recognise the graph; `None` where it is already known.
    seeds
        Seed of each node that draws random numbers.
    drawn
        Samples that each node has seen.
    sources
        State that each source needs to continue.
    iteration
        Batches since the pipeline was built.
    consumed
        Batches returned in this epoch.
    epoch
        Number of resets.
    ended
        Whether the epoch has ended and a reset is due.
    iterator
        State of an iterator over the pipeline.
    bad
        The bad samples so far, and the last good one (``last_good``: the state of the sources before its batch, and its
        index there); empty where errors are raised. Checkpoints of older releases lack it.
    """

    operators: Mapping[str, str] | None = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    drawn: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, Any] = field(default_factory=dict)
    iteration: int = 0
    consumed: int = 0
    epoch: int = 0
    ended: bool = False
    iterator: str = ""
    bad: Mapping[str, Any] = field(default_factory=dict)

    def dumps(self) -> bytes:
        """The checkpoint as bytes."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps({"format": FORMAT, "version": VERSION, **fields}, separators=(",", ":")).encode()

    @classmethod
    def loads(cls, data: bytes | str) -> Checkpoint:
        """Read what :meth:`dumps` wrote.

        Raises
        ------
        FormatError
            If it is something else, damaged, or from a newer version.
        """
        try:
            found = json.loads(data)
        except (ValueError, UnicodeDecodeError) as error:
            raise FormatError(
                f"Failed to deserialize checkpoint from protobuf: it is not one of a pipeline ({error})"
            ) from None
        if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
            raise FormatError("Failed to deserialize checkpoint from protobuf: it is not one of a pipeline")
        version = found.pop("version", None)
        if version != VERSION:
            raise FormatError(f"this checkpoint has version {version}; this release reads version {VERSION}")
        kinds = {"iteration": int, "consumed": int, "epoch": int, "ended": bool, "iterator": str}
        found.setdefault("bad", {})
        for name in cls.__dataclass_fields__:
            if not isinstance(found.get(name), kinds.get(name, dict)):
                raise FormatError(f"this checkpoint is damaged: '{name}' is missing or of the wrong kind")
        return cls(**{name: found[name] for name in cls.__dataclass_fields__})

    @classmethod
    def merged(cls, shards: Sequence[Checkpoint], shard: int, count: int) -> Checkpoint:
        """The checkpoint from which one of `count` processes goes on with the rest of the epoch of others.

        Parameters
        ----------
        shards
            The checkpoints of all processes, in the order of their shards.
        shard
            Number of the process.

        Raises
        ------
        FormatError
            If they are of different pipelines.
        """
        first = shards[0]
        for other in shards[1:]:
            other.check(first.operators or {})
        records = [other.bad for index, other in enumerate(shards) if index % count == shard and other.bad]
        bad: dict[str, Any] = {}
        if any(other.bad for other in shards):
            bad = {
                "records": [record for each in records for record in each["records"]],
                "total": sum(each["total"] for each in records),
                "batches": records[0]["batches"] if records else [],
                "last_good": None,
            }
        return cls(
            operators=first.operators,
            drawn={name: max(other.drawn.get(name, 0) for other in shards) for name in first.drawn},
            sources={
                name: {"shards": [other.sources[name] for other in shards], "epochs": epochs_of_iterators(shards, name)}
                for name in first.sources
            },
            iterator=first.iterator,
            iteration=max(other.iteration for other in shards),
            consumed=max(other.consumed for other in shards),
            epoch=max(other.epoch for other in shards),
            bad=bad,
        )

    def check(self, operators: Mapping[str, str]) -> None:
        """Raise unless the checkpoint belongs to a pipeline with these nodes.

        Raises
        ------
        FormatError
            With the first difference.
        """
        if self.operators is None:
            return
        for name, op in self.operators.items():
            if operators.get(name) != op:
                has = f"fn.{operators[name]}" if name in operators else "no such node"
                raise FormatError(f"this checkpoint is of another pipeline: it has fn.{op} as '{name}', here is {has}")
        for name, op in operators.items():
            if name not in self.operators:
                raise FormatError(f"this checkpoint is of another pipeline: it does not know '{name}' (fn.{op})")


def epochs_of_iterators(shards: Sequence[Checkpoint], source: str) -> list[dict[str, Any]]:
    """The epoch of the iterators over pipelines, as each shard tells it; empty where none follows this source.

    Raises
    ------
    FormatError
        If the iterators' states are damaged.
    """
    found = []
    for shard, each in enumerate(shards):
        try:
            epoch = json.loads(each.iterator or "{}").get("epoch")
            if epoch is None or epoch["reader"] != source:
                return []
            start = epoch["starts"][str(shard)]
            found.append({"start": start, **{name: epoch[name] for name in ("taken", "batch_size", "drop")}})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"the checkpoint of shard {shard} holds no state of an iterator ({error!r})") from None
    return found
