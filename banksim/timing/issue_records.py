"""The records of the loop over cycles as a type checker sees them in compiled code.

Their layouts, and what each field means, are `issue_table.CODE` and `issue_loop.WARP`;
tests/machine/test_compiled_records.py holds both to the same names.
"""

from __future__ import annotations

from typing import Protocol

from banksim.system.compiled_types import Integer


class IssueRow(Protocol):
    """`issue_table.CODE`: what issue has to know of an instruction."""

    kind: Integer
    stall: Integer
    wait: Integer
    write: Integer
    read: Integer
    latency: Integer
    pipe: Integer
    interval: Integer
    server: Integer
    more: Integer
    returns: Integer
    together: Integer
    cost: Integer
    far: Integer
    copies: Integer
    pause: Integer
    register: Integer
    later: Integer
    joins: Integer
    guard: Integer
    inverted: Integer


class ResidentWarp(Protocol):
    """`issue_loop.WARP`: a warp of the multiprocessor."""

    state: Integer
    place: Integer
    core: Integer
    record: Integer
    context: Integer
    next: Integer
    previous: Integer
    issued: Integer
    ready: Integer
    line: Integer
    blocked: Integer
    refused: Integer
    released: Integer
    early: Integer
    number: Integer
    ended: Integer
