import re
from dataclasses import replace

import pytest

from banksim import architecture
from banksim.banks.conflicts import Conflicts, Request, SiteConflicts
from banksim.report.text.pattern import report
from banksim.requests.counts import Count, Range, Status
from banksim.requests.trace import Site
from helpers.goldens import assert_golden

COLUMN = Request("ld", 4, 0xFFFFFFFF, tuple(128 * lane for lane in range(32)), block=2, warp=5, excess=31)
LONG = "atomicAdd(&histogram[values[threadIdx.y * blockDim.x + threadIdx.x] >> shift & 255], 1)"


def site(
    text: str,
    op: str,
    requests: int,
    transactions: Count | None,
    ideal: int | None,
    degree: Count | None,
    status: Status,
    worst: Request | None = None,
) -> SiteConflicts:
    return SiteConflicts(Site(text=text), op, 4, requests, transactions, ideal, degree, worst, status)


HOPPER = Conflicts(
    architecture("sm_90"),
    (
        site(
            "tile[y][x]",
            "st",
            32,
            32,
            32,
            1,
            "measured",
            replace(COLUMN, op="st", address=tuple(range(0, 128, 4)), excess=0),
        ),
        site("tile[threadIdx.x][threadIdx.y]", "ld", 32, 1024, 32, 32, "measured", COLUMN),
        site(LONG, "atom", 1_048_576, 4_194_304, 1_048_576, 9, "measured"),
    ),
)
TESLA = Conflicts(
    architecture("tesla"),
    (
        site("tile[y][x]", "st", 32, 64, 64, 1, "assumed"),
        site("tile[threadIdx.x][threadIdx.y]", "ld", 32, Range(1024, 1100), 64, Range(16, 18), "documented", COLUMN),
        site(LONG, "atom", 1_048_576, None, None, None, "unknown"),
    ),
)
KEPLER = Conflicts(
    architecture("kepler-8"),
    tuple(
        replace(s, status="documented", transactions=s.ideal, degree=1, worst=s.worst and replace(s.worst, excess=0))
        if s.op != "atom"
        else replace(s, transactions=None, ideal=None, degree=None, status="unknown")
        for s in HOPPER.sites
    ),
)


def labels(conflicts: Conflicts) -> list[str]:
    return [found.text for found in conflicts.sites]


@pytest.mark.parametrize("width", [48, 80, 160])
@pytest.mark.parametrize(
    ("name", "judged"),
    [("hopper", [HOPPER]), ("tesla", [TESLA]), ("two", [TESLA, HOPPER]), ("three", [TESLA, KEPLER, HOPPER])],
)
def test_a_report_is_as_written(name: str, judged: list[Conflicts], width: int) -> None:
    text = report(judged, labels(judged[0]), width, "none").plain
    assert max(map(len, text.splitlines())) <= width
    assert_golden(text + "\n", f"report-{name}-{width}")


def test_totals_are_withheld_where_a_count_is_unknown() -> None:
    text = report([TESLA], labels(TESLA), 120, "none").plain
    total = next(line for line in text.splitlines() if line.strip().startswith("total"))
    assert total.split() == ["total", "1,048,640", "withheld", "withheld", "withheld", "withheld"]
    assert "Totals are withheld: the count of 1 access is unknown." in text
    assert "unknown: atom on tesla: before sm_50 a shared atomic is a loop" in text.replace("\n", " ")


def test_the_request_of_largest_excess_is_drawn() -> None:
    text = report([HOPPER], labels(HOPPER), 80).plain
    assert "tile[threadIdx.x][threadIdx.y]: ld 4 B, warp 5 of block 2, on sm_90" in text
    assert "32 transactions, 1 without conflicts: bank 0 needs 32 passes, one word a pass." in text
    assert text.count("lane │") == 1


def test_all_requests_are_drawn_if_asked_for() -> None:
    text = report([HOPPER], labels(HOPPER), 80, "all").plain
    assert text.count("lane │") == sum(found.worst is not None for found in HOPPER.sites) == 2
    assert "1 transaction, no conflict." in text


def test_a_request_of_unknown_cost_is_not_drawn() -> None:
    unknown = Conflicts(TESLA.arch, (replace(TESLA.sites[2], worst=replace(COLUMN, op="atom")),))
    text = report([unknown], [LONG], 80, "all").plain
    assert "Nobody knows how many transactions this takes." in text
    assert "lane │" not in text


def test_no_conflict_is_one_calm_line() -> None:
    free = Conflicts(HOPPER.arch, HOPPER.sites[:1])
    text = report([free], ["tile[y][x]"], 80).plain
    assert "lane │" not in text
    assert text.endswith("No conflicts: no request takes more transactions than its width asks for.")


def test_nothing_is_said_to_be_free_that_is_not_known() -> None:
    unknown = Conflicts(TESLA.arch, TESLA.sites[2:])
    assert "No conflicts" not in report([unknown], [LONG], 80).plain


def test_no_request_is_no_table() -> None:
    assert report([Conflicts(HOPPER.arch, ())], [], 80).plain == (
        "Shared-memory bank conflicts on sm_90\n\nNo thread accesses shared memory."
    )


def test_colours_repeat_what_the_text_says() -> None:
    """The figures in the colour of a conflict are those of the rows whose excess is not 0."""
    text = report([HOPPER], labels(HOPPER), 160, "none")
    hot = {text.plain[span.start : span.end].strip() for span in text.spans if "d55e00" in str(span.style)}
    assert hot == {
        "1,024", "32.00", "992", "32-way", "4,194,304", "4.00", "3,145,728", "9-way", "4,195,360", "3,146,720",
    }  # fmt: skip
    assert not re.search("\x1b", text.plain)
