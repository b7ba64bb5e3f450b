"""Changes that all formats share: odd numbers in fields, and pieces in another order."""

from __future__ import annotations

import random
from typing import Any

SIZES = (0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1 << 20, (1 << 31) - 1, 1 << 31,
          (1 << 32) - 1, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip


def number(chance: random.Random, size: int) -> int:
    kind = chance.random()
    if kind < 0.5:
        return chance.choice(SIZES) & ((1 << 8 * size) - 1)
    return chance.getrandbits(8 * size) if kind < 0.7 else chance.randrange(1 << min(8 * size, 8))


def change_field(data: bytearray, start: int, stop: int, chance: random.Random, order: Any = None) -> None:
    """Change a number somewhere between two places."""
    size = chance.choice((1, 1, 2, 2, 4, 4, 8))
    if stop - start < size:
        return
    at = (
        start + chance.randrange((stop - start - size) // size + 1) * size
        if chance.random() < 0.7
        else (chance.randrange(start, stop - size + 1))
    )
    value = int.from_bytes(data[at : at + size], order or "little")
    if chance.random() < 0.3:
        value = (value + chance.choice((-2, -1, 1, 2, 256, -256))) % (1 << 8 * size)
    else:
        value = number(chance, size)
    data[at : at + size] = value.to_bytes(size, order or chance.choice(("little", "big")))


def rearranged(pieces: list[bytes], chance: random.Random) -> list[bytes]:
    """The pieces with one taken out, repeated, moved or cut."""
    if not pieces:
        return pieces
    pieces = list(pieces)
    kind, at = chance.randrange(5), chance.randrange(len(pieces))
    if kind == 0:
        del pieces[at]
    elif kind == 1:
        pieces.insert(chance.randrange(len(pieces) + 1), pieces[at])
    elif kind == 2:
        pieces.insert(chance.randrange(len(pieces)), pieces.pop(at))
    elif kind == 3:
        pieces[at] = pieces[at][: chance.randrange(len(pieces[at]) + 1)]
    else:
        pieces[at] *= chance.choice((2, 3, 40))
    return pieces
