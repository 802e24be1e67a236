"""What the tests of `banksim.pattern` look at in a trace."""

from banksim import pattern
from banksim.requests.kinds import OPS
from banksim.requests.trace import Trace


def requests(trace: Trace) -> list[tuple[str, str, int]]:
    """Text, op and width of each site."""
    rows = zip(trace.site.tolist(), trace.op, trace.width.tolist(), strict=True)
    found = {site: (OPS[op], width) for site, op, width in rows}
    return [(site.text, *found[number]) for number, site in enumerate(trace.sites)]


def addresses(access: str, **options: object) -> list[int]:
    """Addresses of the first request's active lanes."""
    trace = pattern(access, **options)  # type: ignore[arg-type]
    return [int(trace.address[0, lane]) for lane in range(32) if trace.mask[0] >> lane & 1]
