"""The rules of what is found: their names, and the pages that tell what each means and how to cure it."""

from dataclasses import dataclass
from pathlib import Path

from banksim.system.extras import HERE, origin

HINT_RULE = "shared-memory-hint"
CHECK_RULES = {"races": "shared-memory-race", "uninitialized": "uninitialized-shared-memory"}
"""The rules of findings by the name of the check."""
PAGES = "examples/guide/rules"
INSTALLED = Path(__file__).parent / "rules"


@dataclass(frozen=True)
class Rule:
    """`id` is also the name of its page, `title` what annotations are called, `text` what it is, `cure` what helps."""

    id: str
    title: str
    text: str
    cure: str

    @property
    def name(self) -> str:
        """As SARIF wants names: BankConflict."""
        return "".join(word.capitalize() for word in self.id.split("-"))

    @property
    def file(self) -> Path | None:
        """Its page in this checkout or beside the installed package; None where the pages are not there."""
        files = [folder / f"{self.id}.md" for folder in (HERE / PAGES, INSTALLED)]
        return next(filter(Path.is_file, files), None)

    @property
    def page(self) -> str:
        """Its page as Markdown, or "" where the pages were not installed."""
        return self.file.read_text(encoding="utf-8") if self.file else ""

    @property
    def uri(self) -> str | None:
        """Where its page is: in the repository that this banksim was installed from, or on this machine."""
        came = origin()
        url = str(came.get("url", "")).removesuffix(".git")
        if "vcs_info" in came and url.startswith("https://"):
            return f"{url}/blob/{came['vcs_info']['commit_id']}/{PAGES}/{self.id}.md"
        return self.file.as_uri() if self.file else None


RULES = (
    Rule(
        "bank-conflict",
        "Shared-memory bank conflict",
        "Lanes of a warp want different words of one bank, which serves them one after the other.",
        "Another layout may cure it: banksim advise proposes one and proves it.",
    ),
    Rule(
        "atomic-conflict",
        "Atomics meet in one bank",
        "Lanes of a warp update words of one bank, or one word, which the hardware does one after the other.",
        "Give warps or lanes copies of their own, or combine values within the warp first.",
    ),
    Rule(
        "matrix-conflict",
        "Rows of a matrix load conflict",
        "The rows of 16 bytes that ldmatrix or stmatrix moves together lie in the same banks.",
        "Pad the rows by 16 bytes or swizzle their 16-byte pieces: banksim advise proposes a layout and proves it.",
    ),
    Rule(
        "copy-conflict",
        "An asynchronous copy conflicts",
        "Lanes of a warp copy into different words of one bank, or read from scattered places.",
        "Let neighbouring lanes copy neighbouring 16 bytes, and lay the tile out so that they lie in different banks.",
    ),
    Rule(
        "remote-conflict",
        "An access to another block touches more lines than it needs",
        "Lanes of a warp reach into many lines of 128 bytes of other blocks' shared memory: each is an access.",
        "Let the lanes of a warp access neighbouring words of one block.",
    ),
    Rule(
        "unknown-cost",
        "An access of unknown cost",
        "Nobody has measured how many transactions this access takes on this architecture.",
        'Judge by another architecture, or excuse the line: banksim: allow(unknown, "why").',
    ),
    Rule(
        CHECK_RULES["races"],
        "Shared-memory race",
        "Accesses to the same byte by threads that nothing orders, at least one a write, not both atomic.",
        "Put the barrier that the message names before the line.",
    ),
    Rule(
        CHECK_RULES["uninitialized"],
        "Uninitialized shared memory",
        "Reads of shared memory that nothing has written.",
        "Write the element before the read, or do not read it.",
    ),
    Rule(
        HINT_RULE,
        "Shared memory touched by two warps",
        "A look at some blocks of a run without checks: --check races tells more.",
        "Run the kernel with --check races.",
    ),
)
BY_ID = {rule.id: rule for rule in RULES}


def rule_of(op: str, known: bool) -> Rule:
    """The rule of a line that conflicts, by the kind of its requests; `known`: whether its cost is."""
    if not known:
        return BY_ID["unknown-cost"]
    if op in ("ld", "st"):
        return BY_ID["bank-conflict"]
    if "matrix" in op:
        return BY_ID["matrix-conflict"]
    if op.startswith("remote"):
        return BY_ID["remote-conflict"]
    return BY_ID["copy-conflict" if op.startswith("cp_") or op == "bulk" else "atomic-conflict"]
