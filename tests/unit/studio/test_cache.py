"""The cache of results: which entries it drops, and when."""

from __future__ import annotations

from dali_lab.studio.preview.cache import Cache


def test_forgets_what_was_used_least_recently() -> None:
    cache: Cache[str] = Cache(10)
    for name in "abc":
        cache.put(name, name, 3)
    assert cache.get("a") == "a"
    cache.put("d", "d", 3)
    assert [cache.get(name) for name in "abcd"] == ["a", None, "c", "d"]
    assert cache.used == 9
    cache.put("e", "e", 11)
    assert cache.get("e") is None and len(cache) == 3


def test_keeps_few_of_one_place_and_all_of_the_others() -> None:
    cache: Cache[int] = Cache(1000, most=2)
    cache.put("reader", 0, 1, "reader")
    for value in range(5):
        cache.put(value, value, 1, "resize")
        assert cache.get("reader") == 0
    assert [cache.get(value) for value in range(5)] == [None, None, None, 3, 4]
    cache.get(3)
    cache.put(5, 5, 1, "resize")
    assert cache.get(3) == 3 and cache.get(4) is None
    cache.put(3, 30, 7, "blur")
    assert cache.get(3) == 30 and cache.used == 1 + 1 + 7
    cache.discard(lambda key, value: value == 30)
    cache.clear()
    assert len(cache) == 0 and cache.used == 0
