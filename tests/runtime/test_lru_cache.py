from mcp_memory.runtime.lru_cache import Latest


def test_what_was_asked_for_last_stays() -> None:
    latest: Latest[str, int] = Latest(2)
    latest.put("one", 1)
    latest.put("two", 2)
    assert latest.get("one") == 1
    latest.put("three", 3)
    assert [latest.get(key) for key in ("one", "two", "three")] == [1, None, 3]


def test_what_was_put_last_counts_as_asked_for() -> None:
    latest: Latest[str, int] = Latest(2)
    latest.put("one", 1)
    latest.put("two", 2)
    assert latest.put("one", 11) == 11
    latest.put("three", 3)
    assert [latest.get(key) for key in ("one", "two", "three")] == [11, None, 3]


def test_a_cleared_memory_knows_nothing() -> None:
    latest: Latest[str, int] = Latest(2)
    latest.put("one", 1)
    latest.clear()
    assert latest.get("one") is None
