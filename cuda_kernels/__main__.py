"""`python -m cuda_kernels`: list, show, run and validate the real kernels."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from banksim.__main__ import Parser
from banksim.commands.shared.output_options import OutputInFolder
from banksim.errors import InputError
from banksim.system import ending
from cuda_kernels import catalogue, evidence_records

OK, DISAGREES = 0, 1


def numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no size: give numbers with commas, such as 4,4") from None


def parser() -> Parser:
    top = Parser("python -m cuda_kernels", description=__doc__, allow_abbrev=False)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, purpose: str, example: str) -> ArgumentParser:
        return commands.add_parser(
            name,
            help=purpose,
            description=purpose,
            epilog=f"example:\n  python -m cuda_kernels {example}",
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    names = {"nargs": "*", "metavar": "NAME", "help": "kernels, families or groups (default: all)"}
    choices = {
        "--block": {"type": numbers, "metavar": "X,Y", "help": "threads of the block, where the kernel has a choice"},
        "--pad": {"type": int, "metavar": "N", "help": "elements by which a row of the tile is longer"},
        "--json": {"action": "store_true", "help": "print plain data"},
    }
    one = command("list", "All kernels by family, with what sets each apart.", "list")
    one.add_argument("names", **names)  # type: ignore[arg-type]
    one.add_argument("--json", **choices["--json"])  # type: ignore[arg-type]
    one = command("show", "A kernel: its source, its launch, a tile's way.", "show setRowReadCol --block 4,4")
    one.add_argument("name", metavar="NAME", help="a kernel")
    for option in choices:
        one.add_argument(option, **choices[option])  # type: ignore[arg-type]
    one = command("run", "Run kernels on the GPU, or in banksim without one, and check results.", "run transposes")
    one.add_argument("names", **names)  # type: ignore[arg-type]
    for option in choices:
        one.add_argument(option, **choices[option])  # type: ignore[arg-type]
    where = one.add_mutually_exclusive_group()
    where.add_argument("--gpu", action="store_true", help="on the GPU; an error where there is none")
    where.add_argument("--no-gpu", action="store_true", help="in banksim even where there is a GPU")
    one = command(
        "validate",
        "Hold banksim's predictions against this machine's GPU, or against what an H200 recorded. Exit status: "
        "0 all counts agree, 1 some do not, 2 wrong use or an error.",
        "validate tiles transposes --picture agreement.svg",
    )
    one.add_argument("names", **names)  # type: ignore[arg-type]
    one.add_argument("--evidence", metavar="FILE", type=Path, help="hold against this record, not against a GPU")
    one.add_argument("--no-gpu", action="store_true", help="hold against the H200's record even where there is a GPU")
    file = {"action": OutputInFolder, "type": Path}
    one.add_argument("--save", **file, metavar="FILE.json", help="keep what the GPU measured, as evidence")  # type: ignore[arg-type]
    one.add_argument("--picture", **file, metavar="FILE.svg", help="draw measured against predicted")  # type: ignore[arg-type]
    one.add_argument("--json", **choices["--json"])  # type: ignore[arg-type]
    return top


def chosen(options: Namespace) -> dict[str, object]:
    values = {"block": options.block, "pad": options.pad}
    return {name: value for name, value in values.items() if value is not None}


def list_(options: Namespace) -> int:
    entries = catalogue.find(options.names)
    if options.json:
        plain = [{"name": e.name, "family": e.family, "group": e.group, "about": e.about} for e in entries]
        print(json.dumps(plain, indent=2))
        return OK
    longest = max(len(entry.name) for entry in entries)
    group = ""
    for entry in entries:
        if entry.group != group:
            group = entry.group
            print(f"{group} (cuda_kernels/{entry.family}.py)")
        print(f"  {entry.name:<{longest}}  {entry.about}{' (wrong on purpose)' if entry.race else ''}")
    return OK


def show(options: Namespace) -> int:
    from cuda_kernels import show as pages

    (entry,) = single(options.name)
    launch = entry.launch(**chosen(options))
    print(pages.as_json(entry, launch) if options.json else pages.page(entry, launch), end="")
    return OK


def single(name: str) -> list[catalogue.Entry]:
    entry = catalogue.entries().get(name)
    return [entry] if entry else [one for one in catalogue.find([name]) if not_one(name, one)]


def not_one(name: str, entry: catalogue.Entry) -> NoReturn:
    raise InputError(f"{name} is a family or a group: show takes one kernel, such as {entry.name}")


def run(options: Namespace) -> int:
    from cuda_kernels import gpu
    from cuda_kernels.predict import predict

    entries = catalogue.find(options.names)
    why_not = gpu.why_not()
    if options.gpu and why_not:
        raise InputError(f"no GPU can be used: {why_not}")
    on_gpu = not why_not and not options.no_gpu
    if not on_gpu and not options.json:
        print(f"in banksim: {'as asked for' if options.no_gpu else why_not}")
    results, wrong = [], 0
    for entry in entries:
        launch = entry.launch(**chosen(options))
        said = gpu.checked(launch) if on_gpu else predict(launch).wrong
        wrong += bool(said and not entry.race)
        result = f"not checked: {entry.race}" if entry.race else said or "right"
        results.append({"name": entry.name, "result": result})
        if not options.json:
            print(f"{entry.name}: {result}", flush=True)
    if options.json:
        print(json.dumps({"gpu": on_gpu, "kernels": results}, indent=2))
    return DISAGREES if wrong else OK


def validate(options: Namespace) -> int:
    from cuda_kernels import gpu, report, time_picture
    from cuda_kernels.validate import Predictions, against, measure

    entries = catalogue.find(options.names)
    why_not = "as asked for" if options.no_gpu or options.evidence else gpu.why_not()
    if why_not and options.save:
        raise InputError(f"--save keeps what a GPU measured, and none is used ({why_not})")
    progress = ProgressLine()
    with Predictions(len(entries)) as predictions:
        if why_not:
            evidence = evidence_records.load(options.evidence or evidence_records.EVIDENCE)
            not_done = [f"no GPU was used ({why_not}): results, counts and times of the GPU are those recorded"]
        else:
            evidence, not_done = measure(entries, predictions, progress)
            if options.save:
                evidence_records.save(evidence, options.save)
        found = against(evidence, entries, predictions, progress)
    progress.clear()
    if options.picture:
        evidence_records.write(options.picture, time_picture.svg(found))
    if options.json:
        print(report.as_json(found, not_done, recorded=bool(why_not)))
    else:
        report.show(found, not_done, recorded=bool(why_not))
    return OK if found.agrees else DISAGREES


class ProgressLine:
    """A line on a terminal's standard error that says how far it is."""

    def __init__(self) -> None:
        self.shown = False

    def __call__(self, what: str, done: int, of: int) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r{what}: {done} of {of} kernels\x1b[K", end="", file=sys.stderr, flush=True)
            self.shown = True

    def clear(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


COMMANDS: dict[str, Callable[[Namespace], int]] = {"list": list_, "show": show, "run": run, "validate": validate}


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; every error is one line on standard error and exit status 2."""

    def command() -> int:
        options = parser().parse_args(words)
        return COMMANDS[options.command](options)

    return ending.run("cuda_kernels", command, last=words is None)


if __name__ == "__main__":
    sys.exit(main())
