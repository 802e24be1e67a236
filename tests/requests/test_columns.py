"""Chunks of requests on several threads."""

from threading import Barrier, get_ident

import pytest

from banksim.requests import columns


def test_chunks_are_taken_once_by_all_threads_and_any_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "CHUNK", 10)
    for last_of_all in range(8):
        everyone, threads = Barrier(3), dict[int, list[int]]()

        def work(
            first: int, last: int, threads: dict[int, list[int]] = threads, everyone: Barrier = everyone
        ) -> tuple[int, int]:
            mine = threads.setdefault(get_ident(), [])
            if not mine:
                everyone.wait(30)
            mine.append(first)
            return first, last

        requests = 71 + last_of_all
        whole = [(first, min(first + 10, requests)) for first in range(0, requests, 10)]
        assert columns.spread(work, requests, 3) == whole
        assert len(threads) == 3
        assert all(taken == sorted(taken) for taken in threads.values())
    for wrong in (0, 10, 70):

        def fails(first: int, last: int, wrong: int = wrong) -> None:
            if first == wrong:
                raise ValueError(f"at {first}")

        with pytest.raises(ValueError, match=f"at {wrong}"):
            columns.spread(fails, 75, 3)
    assert columns.spread(lambda first, last: first, 0) == []
