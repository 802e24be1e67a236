"""The sources of a page: lines with what they cost and the machine code made of them; the others folded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Self

from markupsafe import Markup, escape

from banksim.machine.races.findings import Finding, accesses
from banksim.report.html.figures import Drawer, LineFigures, SiteFigures
from banksim.report.html.highlight import highlighted
from banksim.system.source_files import source_lines
from banksim.wording import listed, number, plural, runs, shown

if TYPE_CHECKING:
    from banksim.kernels.kernel import Instruction
    from banksim.requests.trace import Site
    from banksim.runs.outcome import Run
    from banksim.runs.programs.kernel_launches import KernelLaunches

AROUND = 3
"""Lines without accesses that are shown before and behind one with them."""
FOLD = 3
"""So many lines at least are folded."""

Place = tuple[str, int]
Row = tuple[str, bool]
"""An instruction, and whether it accesses shared memory."""


@dataclass(frozen=True)
class SourceLine:
    """A line of source, or an access of a pattern, and its place in the page; `sass`: its instructions with how
    often warps executed them; `findings`: the numbers of those that it has a part in."""

    anchor: str
    line: int | None
    markup: Markup
    figures: tuple[LineFigures, ...] = ()
    sites: tuple[tuple[int, SiteFigures], ...] = ()
    sass: tuple[Row, ...] = ()
    findings: tuple[int, ...] = ()

    @property
    def hot(self) -> bool:
        return any(one.beyond for one in self.figures)

    @property
    def kinds(self) -> str:
        return ", ".join(dict.fromkeys(site.op for _, site in self.sites))

    @property
    def alone(self) -> str:
        """What the figures of a line with one access do not tell: `ld 4 B · 32 requests · ideal 32 · measured`.
        "" where it has several."""
        sites = [site for _, site in self.sites]
        if len({site.arch for site in sites}) < len(sites) or len({site.op for site in sites}) > 1:
            return ""
        requests = by_arch((site.arch, f"{site.requests} request{'s' * (site.requests != '1')}") for site in sites)
        ideal = by_arch((site.arch, site.ideal) for site in sites)
        return f"{sites[0].op} · {requests} · ideal {ideal} · {by_arch((site.arch, site.status) for site in sites)}"

    @property
    def heats(self) -> str:
        """The heats by the architectures, as properties of a style; empty where all are cold."""
        return "".join(f"--h{at}:{one.heat:.2g};" for at, one in enumerate(self.figures) if one.heat)


@dataclass(frozen=True)
class Fold:
    """Lines without accesses, next to each other."""

    lines: tuple[SourceLine, ...]

    @property
    def what(self) -> str:
        numbers = runs(one.line or 0 for one in self.lines)
        return f"{plural(len(self.lines), 'line')} without accesses: {numbers}"


@dataclass(frozen=True)
class SourceFile:
    """A source file with its lines, or all that belongs to no file."""

    name: str
    lines: tuple[SourceLine, ...]

    @property
    def is_quiet(self) -> bool:
        return not any(one.hot or one.findings for one in self.lines)

    @property
    def summary(self) -> str:
        hot = sum(one.hot for one in self.lines)
        accessing = plural(sum(bool(one.sites) for one in self.lines), "line")
        said = f"conflicts on {number(hot)} of" if hot else "no conflicts,"
        return f"{said} {accessing} with accesses"

    @property
    def digits(self) -> int:
        return digits(self.lines)

    @property
    def parts(self) -> Iterator[SourceLine | Fold]:
        """Lines to show, and between them those that fold."""
        near = set()
        for at, one in enumerate(self.lines):
            if one.sites or one.findings:
                near |= set(range(at - AROUND, at + AROUND + 1))
        for is_near, group in groupby(enumerate(self.lines), key=lambda pair: pair[0] in near):
            lines = tuple(line for _, line in group)
            if is_near or len(lines) < FOLD:
                yield from lines
            else:
                yield Fold(lines)


def by_arch(values: Iterable[tuple[str, str]]) -> str:
    """Values of architectures: one alone where all agree, else `2 on kepler-8, 4 on sm_75 and sm_90`."""
    found: dict[str, list[str]] = {}
    for arch, value in values:
        found.setdefault(value, []).append(arch)
    return ", ".join(value if len(found) == 1 else f"{value} on {listed(archs)}" for value, archs in found.items())


def digits(lines: Iterable[SourceLine]) -> int:
    """Letters of the longest figure of lines, which its column must hold in one line."""
    figures = (figure for one in lines for figures in one.figures for _, figure in figures.cells)
    return max(map(len, figures), default=0)


class Sources:
    """The files of a report, and where in the page their lines are; `own` begins every name."""

    def __init__(self, drawer: Drawer, code: Mapping[Place, Sequence[Row]], found: Sequence[Finding], own: str) -> None:
        self.drawer, self.code, self.own = drawer, code, own
        self.found: dict[Place, list[int]] = {}
        for at, finding in enumerate(found, 1):
            for one in accesses(finding):
                if one.site.file and one.site.line and at not in self.found.get((one.site.file, one.site.line), ()):
                    self.found.setdefault((one.site.file, one.site.line), []).append(at)
        places = [group for group in drawer.groups if isinstance(group, tuple)]
        self.names = {name: at for at, name in enumerate(dict.fromkeys(file for file, _ in [*places, *self.found]))}
        self.loose_names = {group: at for at, group in enumerate(g for g in drawer.groups if isinstance(g, str))}
        self.markup: dict[str, list[Markup]] = {}
        self.files = [*self.of_files(places), *self.loose()]

    def anchor(self, group: object) -> str:
        """The name of a line in the page; "" where it has no line there."""
        if isinstance(group, tuple) and group[0] in self.names:
            return f"{self.own}-{self.names[group[0]]}-{group[1]}"
        return f"{self.own}-a{self.loose_names[group]}" if group in self.loose_names else ""

    def text(self, group: object) -> Markup:
        """A line in colours, without the blanks around it."""
        if not isinstance(group, tuple):
            return escape(group)
        texts = self.texts(group[0])
        return Markup(texts[group[1] - 1].strip()) if 0 < group[1] <= len(texts) else Markup()

    def texts(self, file: str) -> list[Markup]:
        if file not in self.markup:
            known = list(source_lines(file))
            if not known:
                told = {site.line: site.text for one in self.drawer.lines for site in one.sites if site.file == file}
                known = [told.get(line, "") for line in range(1, max((line or 0 for line in told), default=0) + 1)]
            self.markup[file] = highlighted(file, known)
        return self.markup[file]

    def of_files(self, places: Sequence[Place]) -> Iterator[SourceFile]:
        """Every file with the lines of its kernels."""
        for file in self.names:
            texts = self.texts(file)
            wanted = [line for name, line in [*places, *self.code, *self.found] if name == file]
            first, last = max(1, min(wanted) - AROUND), min(max(wanted) + AROUND, max(len(texts), max(wanted)))
            unread = not source_lines(file)
            lines = (self.line(file, line) for line in range(first, last + 1) if not unread or line in wanted)
            yield SourceFile(shown(file), tuple(lines))

    def line(self, file: str, line: int) -> SourceLine:
        texts, place = self.texts(file), (file, line)
        return SourceLine(
            anchor=self.anchor(place),
            line=line,
            markup=texts[line - 1] if line <= len(texts) else Markup(),
            figures=self.drawer.figures(place) if place in self.drawer.groups else (),
            sites=tuple(self.drawer.sites(place)),
            sass=tuple(self.code.get(place, ())),
            findings=tuple(self.found.get(place, ())),
        )

    def loose(self) -> Iterator[SourceFile]:
        """What has no line: the accesses of a pattern, instructions without line information."""
        if self.loose_names:
            lines = (
                SourceLine(
                    anchor=self.anchor(group),
                    line=None,
                    markup=self.text(group),
                    figures=self.drawer.figures(group),
                    sites=tuple(self.drawer.sites(group)),
                )
                for group in self.loose_names
            )
            yield SourceFile("accesses", tuple(lines))


@dataclass(frozen=True)
class Code:
    """A kernel's instructions with how often warps executed each, and those that accessed shared memory."""

    kernel: str
    counted: Iterable[tuple[Instruction, int]]
    accesses: Collection[Site]

    @classmethod
    def of_run(cls, run: Run) -> Self:
        counted = [(one.instruction, one.warps) for one in run.profile]
        return cls(run.kernel.plain_name, counted, {one.site for one in run.conflicts.sites})

    @classmethod
    def of_launches(cls, of: KernelLaunches) -> Self:
        counted: Iterable[tuple[Instruction, int]] = ()
        if of.kernel is not None and of.warps is not None:
            counted = zip(of.kernel.listing, map(int, of.warps), strict=True)
        return cls(of.name, counted, {one.site for one in of.judged[0].sites})


def machine_code(kernels: Iterable[Code]) -> Mapping[Place, list[Row]]:
    """The executed instructions of each line. On a line that several kernels have, each begins with its name."""
    found: dict[Place, dict[str, list[tuple[str, str, bool]]]] = {}
    for code in kernels:
        for one, warps in code.counted:
            if warps and one.site.file and one.site.line:
                row = number(warps), f"{one.pc:#06x} {one.text}", one.site in code.accesses
                found.setdefault((one.site.file, one.site.line), {}).setdefault(code.kernel, []).append(row)
    return {line: list(listing(of)) for line, of in found.items()}


def listing(kernels: Mapping[str, Sequence[tuple[str, str, bool]]]) -> Iterator[Row]:
    """Counts and instructions of a line, in columns."""
    wide = max(len(warps) for rows in kernels.values() for warps, _, _ in rows)
    for kernel, rows in kernels.items():
        if len(kernels) > 1:
            yield f"{kernel}:", False
        for warps, text, is_access in rows:
            yield f"{warps:>{wide}}  {text}", is_access
