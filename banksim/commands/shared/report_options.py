"""What all commands that judge requests share: by which architectures, how to show it, and when to fail."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.banks import limits as guard
from banksim.banks.conflicts import Conflicts
from banksim.commands.shared.output_options import OutputFile
from banksim.errors import InputError
from banksim.system.visible import say
from banksim.system.writing import write as write_file

if TYPE_CHECKING:
    from banksim.machine.races.findings import Finding, Hint
    from banksim.report.annotations import Plain
    from banksim.report.html.conflicts import Told

    Review = Callable[[Sequence[Conflicts], guard.Findings, Sequence[Finding], Sequence[Hint], Plain], str]

Described = Callable[[], dict[str, object]]
"""Makes the report as plain data, which every form for programs holds."""
PICTURES = {
    "worst": "of all accesses the worst request, if it has a conflict",
    "all": "the worst request of every access",
    "none": "no picture",
}
FORMATS = {
    "text": "for people",
    "github": "annotations on the lines of a pull request (GitHub Actions)",
    "sarif": "SARIF 2.1.0, for code scanning",
}
"""What `--format` takes. Each but text is made by the function of its name in `banksim.report`'s module of its name."""


def options(parser: ArgumentParser) -> _ArgumentGroup:
    """Add the options of reports, as a group to which a command may add its own."""
    group = parser.add_argument_group("report")
    group.add_argument(
        "--arch",
        metavar="NAME,…",
        default="sm_90",
        help="judge by these architectures side by side: sm_90, hopper, or a GPU (H100), as banksim arch lists them "
        "(default sm_90)",
    )
    group.add_argument("--json", action="store_true", help="print the same as JSON")
    group.add_argument(
        "--picture",
        choices=PICTURES,
        default="worst",
        help="lanes and banks: " + "; ".join(f"{name}: {what}" for name, what in PICTURES.items()) + " (default worst)",
    )
    group.add_argument(
        "--no-picture", dest="picture", action="store_const", const="none", help="short for --picture none"
    )
    group.add_argument("--html", action=OutputFile, metavar="FILE", help="write the report as one HTML file too")
    group.add_argument(
        "--fail-above",
        action="append",
        metavar="[FIGURE=]N",
        help="exit with 1 and name the lines if conflicts cost a kernel more than N transactions (excess=N), or above: "
        + "; ".join(f"{name}=N: {what}" for name, what in guard.FIGURES.items() if name != "excess")
        + "; line-excess=N, line-per-request=N: of any line by itself",
    )
    group.add_argument(
        "--baseline", metavar="FILE", help="lines that cost no more than in this report (--json) do not count"
    )
    format_option(group, FORMATS)
    return group


def format_option(group: _ArgumentGroup, forms: Mapping[str, str]) -> None:
    """Add the option that chooses among forms of a report; each with what it is."""
    group.add_argument(
        "--format",
        dest="report_format",
        choices=forms,
        default="text",
        help="; ".join(f"{name}: {what}" for name, what in forms.items()) + " (default text)",
    )


def architectures(options: Namespace) -> list[Architecture]:
    """The architectures of `--arch`, each once, in order. `InputError` for an unknown name."""
    names = [name.strip() for name in options.arch.split(",") if name.strip()]
    if not names:
        raise InputError("--arch names no architecture: give one or more, such as kepler-4,sm_90")
    return list({one.name: one for one in map(architecture, names)}.values())


def limit(options: Namespace) -> guard.Guard | None:
    """What `--fail-above` and `--baseline` ask for; None if there is no limit. `InputError` for options at odds."""
    if options.json and options.report_format != "text":
        raise InputError(f"--json and --format {options.report_format}: give one of them")
    if options.baseline and not options.fail_above:
        raise InputError("--baseline: give a limit too, such as --fail-above 0")
    if not options.fail_above:
        return None
    limits = tuple(guard.limit(text) for text in options.fail_above)
    if options.baseline is None:
        return guard.Guard(limits)
    try:
        text = Path(options.baseline).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{options.baseline}: {error.strerror}: make a baseline with --json") from None
    from banksim.banks.comparison import from_json

    return guard.Guard(limits, from_json(text, options.baseline))


def is_data(options: Namespace) -> bool:
    """Whether the report is for programs: `finish` prints it."""
    return bool(options.json or options.report_format != "text")


def finish(
    options: Namespace,
    plain: Described,
    judged: Sequence[Conflicts],
    labels: Sequence[str],
    found: Sequence[Finding] = (),
    hinted: Sequence[Hint] = (),
) -> int:
    """Print the report and return the exit status. `labels` name the sites; `plain` makes the report as plain data."""
    most = limit(options)
    if options.report_format != "text":
        print(review(options, plain(), judged, found=found, hinted=hinted))
    elif options.json:
        from banksim.report.json import text

        print(text(plain()))
    else:
        from banksim.report.text.console import console, show
        from banksim.report.text.pattern import report

        screen = console()
        show(report(judged, labels, screen.width, options.picture), screen)
    return status(judged, most)


def write_html(
    options: Namespace, plain: Described, judged: Sequence[Conflicts], what: str, told: Callable[[], Told] | None = None
) -> None:
    """Write the file of `--html`: `what` names the program, `told` makes what its page tells besides the conflicts."""
    if options.html is not None:
        from banksim.report.html.conflicts import Told, html

        whole = replace(told() if told else Told(), plain=plain(), words=options.words)
        write_file(options.html, html(judged, what, whole))


def review(
    options: Namespace,
    plain: dict[str, object],
    judged: Sequence[Conflicts],
    kernels: Sequence[Sequence[Conflicts]] = (),
    found: Sequence[Finding] = (),
    hinted: Sequence[Hint] = (),
) -> str:
    """The report that `--format` asks for: conflicts, findings of checks, hints. `kernels`: as for `guard.check`."""
    name = options.report_format
    write: Review = getattr(import_module(f"banksim.report.{name}"), name)
    return write(judged, guard.check(judged, limit(options) or guard.Guard(()), kernels), found, hinted, plain)


def status(judged: Sequence[Conflicts], most: guard.Guard | None, kernels: Sequence[Sequence[Conflicts]] = ()) -> int:
    """1 if a line is above a limit, or if that cannot be told; such lines, and unused excuses, are named."""
    if most is None:
        return 0
    found = guard.check(judged, most, kernels)
    for finding in found.above:
        say(finding)
    for site, excuse in found.exceeded:
        say(f"excuse exceeded, {guard.cost(site)}: {excuse}")
    for excuse in found.unused:
        say(f"unused excuse: {excuse}")
    return int(bool(found.above))
