from mcp_memory.runtime.lru_cache import LruCache


def test_what_was_asked_for_last_stays() -> None:
    latest: LruCache[str, int] = LruCache(2)
    latest.store("one", 1)
    latest.store("two", 2)
    assert latest.get("one") == 1
    latest.store("three", 3)
    assert [latest.get(key) for key in ("one", "two", "three")] == [1, None, 3]


def test_what_was_put_last_counts_as_asked_for() -> None:
    latest: LruCache[str, int] = LruCache(2)
    latest.store("one", 1)
    latest.store("two", 2)
    assert latest.store("one", 11) == 11
    latest.store("three", 3)
    assert [latest.get(key) for key in ("one", "two", "three")] == [11, None, 3]


def test_a_cleared_memory_knows_nothing() -> None:
    latest: LruCache[str, int] = LruCache(2)
    latest.store("one", 1)
    latest.clear()
    assert latest.get("one") is None
