"""A small cache of the values that were used last."""

import threading
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """The `kept` values that were used last, by key. Thread-safe; two threads may make the same value."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._values: dict[K, V] = {}  # in the order of use

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._values:
                self._values[key] = self._values.pop(key)
            return self._values.get(key)

    def store(self, key: K, value: V) -> V:
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = value
            if len(self._values) > self._kept:
                del self._values[next(iter(self._values))]
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
