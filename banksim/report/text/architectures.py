"""The architectures: a row for each family, or everything that one of them rests on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.text import Text

from banksim.architectures.bank_rules import AccessRule, Architecture
from banksim.architectures.gpus import GPUS, gpus_of
from banksim.report.text.style import QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.requests.kinds import LANES
from banksim.wording import listed

WIDTHS = (4, 8, 16)
MERGED = (
    "16/32: 32 together if pairs merge, that is if every active lane i finds lane i^1 (or every one i^2) "
    "idle or at its own address"
)


def overview(architectures: Iterable[Architecture], width: int) -> Text:
    """A row for each set of architectures that share their rules, named by the first of them."""
    families: dict[int, list[Architecture]] = {}
    for architecture in architectures:
        families.setdefault(id(architecture.accesses), []).append(architecture)
    first = [family[0] for family in families.values()]
    labels = [
        Text.assemble((family[0].name, STRONG), (" ".join(["", *(a.name for a in family[1:])]), QUIET))
        for family in families.values()
    ]
    sources = Sources(a.accesses["ld", n] for a in first for n in WIDTHS)
    columns = [
        Column(("", "banks"), [Text(f"{a.banks} × {a.bank_width} B") for a in first], left=True),
        Column(("bytes", "a pass"), [Text(str(a.row_bytes)) for a in first]),
    ]
    for n in WIDTHS:
        rules = [a.accesses["ld", n] for a in first]
        group = f"loads of {n} B"
        columns += [
            Column(("", "lanes"), [Text(together(rule)) for rule in rules], group),
            Column(("", "status"), [Text(sources.status(rule)) for rule in rules], group, left=True),
        ]
    more = fold(Text("banksim arch NAME shows stores, atomics and matrices as well.", QUIET), width)
    names = [line for number, gpus in GPUS.items() for line in named_gpus(f"sm_{number}: ", gpus, width)]
    known = [Text("GPUs, any of whose names is the name of its architecture too:", STRONG), *names]
    return Text("\n").join([*fitted(labels, columns, width), Text(), *sources.notes(width), Text(), *known, *more])


def named_gpus(before: str, gpus: Sequence[str], width: int) -> list[Text]:
    """A list of GPUs, whose names stay whole."""
    whole = Text(before + ", ".join(gpu.replace(" ", "\xa0") for gpu in gpus))
    return [Text(line.plain.replace("\xa0", " ")) for line in fold(whole, width)] if gpus else []


class Sources:
    """Footnotes: the sources of rules, numbered in order."""

    def __init__(self, rules: Iterable[AccessRule]) -> None:
        self.rules = list(rules)
        self.texts = list(dict.fromkeys(rule.source for rule in self.rules))

    def status(self, rule: AccessRule) -> str:
        return f"{rule.status} [{self.texts.index(rule.source) + 1}]"

    def notes(self, width: int) -> Iterator[Text]:
        texts = [f"[{i}] {source}" for i, source in enumerate(self.texts, 1)]
        if any(rule.merged for rule in self.rules):
            texts.insert(0, MERGED)
        for text in texts:
            yield from fold(Text(text, QUIET), width)


def together(rule: AccessRule) -> str:
    """How many lanes are judged together; `16/32`: 16, or 32 where two such groups are merged."""
    return f"{rule.lanes}/{rule.merged}" if rule.merged else str(rule.lanes)


def details(architecture: Architecture, width: int) -> Text:
    """The banks and the rule of every access of one architecture, with status and source."""
    a = architecture
    major, minor = a.capability
    lines = [Text(f"{a.name}, compute capability {major}.{minor}", STRONG)]
    banks = f"{a.banks} banks of {a.bank_width} bytes, {a.row_bytes} bytes a pass"
    for text in (f"{banks} ({a.evidence}: {a.source})", a.note):
        lines += fold(Text(text), width) if text else ()
    lines += named_gpus("GPUs: ", gpus_of(a.capability), width)
    rules: dict[AccessRule, dict[str, list[str]]] = {}
    for (op, size), access in a.accesses.items():
        if not a.missing(op, size):
            rules.setdefault(replace(access, rows=LANES), {}).setdefault(op, []).append(str(size))
    sources = Sources(rules)
    labels = [Text("; ".join(named(ops)), STRONG) for ops in rules.values()]
    columns = [
        Column(("lanes", "together"), [Text(together(rule)) for rule in rules]),
        Column(("a pass of", "a bank serves"), [Text(serves(a, rule)) for rule in rules], left=True),
        Column(("passes", "each"), [Text(str(rule.passes)) for rule in rules]),
        Column(("", "status"), [Text(sources.status(rule)) for rule in rules], left=True),
    ]
    return Text("\n").join([*lines, Text(), *fitted(labels, columns, width), Text(), *sources.notes(width)])


def serves(architecture: Architecture, rule: AccessRule) -> str:
    """Whom one pass of a bank serves, in words."""
    if rule.serves == "broadcast":
        return "one lane, or the broadcast word"
    if rule.serves == "once":
        return "one lane, the others fail"
    if rule.serves == "lane":
        return "one lane"
    if rule.also:
        return "one lane, then sectors alike"
    if rule.serves == "copy":
        return "one lane, on either side"
    if rule.serves == "bypass":
        return "sectors that move alike"
    if rule.serves == "line":
        return "lanes in one 128-byte line"
    if rule.serves in ("place", "half place"):
        return f"lanes apart in {'one line' if rule.serves == 'place' else 'half a line'}"
    wide = architecture.pass_width > architecture.bank_width
    return f"lanes in one {architecture.row_bytes}-byte row" if wide else "lanes in one word"


def named(ops: dict[str, list[str]]) -> list[str]:
    """`ld and st 1, 2 and 4 B`: ops of the same widths together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for op, sizes in ops.items():
        alike.setdefault(tuple(sizes), []).append(op)
    return [f"{listed(names)} {listed(sizes)} B" for sizes, names in alike.items()]
