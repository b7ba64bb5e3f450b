"""The seed sequence of C++, from which NVIDIA DALI has the seeds of operators and the state of generators."""

from __future__ import annotations

_WORD = 0xFFFFFFFF


def seed_sequence(seed: int, count: int) -> list[int]:
    """The `count` 32-bit words of C++'s ``std::seed_seq{seed}`` (ISO/IEC 14882, [rand.util.seedseq])."""
    if count == 0:
        return []
    given = (seed & _WORD,)
    words = [0x8B8B8B8B] * count
    t = 11 if count >= 623 else 7 if count >= 68 else 5 if count >= 39 else 3 if count >= 7 else (count - 1) // 2
    p = (count - t) // 2
    q = p + t
    rounds = max(len(given) + 1, count)
    for k in range(rounds):
        mixed = words[k % count] ^ words[(k + p) % count] ^ words[(k - 1) % count]
        r1 = (1664525 * (mixed ^ (mixed >> 27))) & _WORD
        r2 = r1 + (len(given) if k == 0 else k % count + (given[k - 1] if k <= len(given) else 0))
        words[(k + p) % count] = (words[(k + p) % count] + r1) & _WORD
        words[(k + q) % count] = (words[(k + q) % count] + r2) & _WORD
        words[k % count] = r2 & _WORD
    for k in range(rounds, 2 * rounds):
        mixed = (words[k % count] + words[(k + p) % count] + words[(k - 1) % count]) & _WORD
        r3 = (1566083941 * (mixed ^ (mixed >> 27))) & _WORD
        r4 = (r3 - k % count) & _WORD
        words[(k + p) % count] ^= r3
        words[(k + q) % count] ^= r4
        words[k % count] = r4
    return words
