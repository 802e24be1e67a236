"""Tell of the cache: where it is and how large; empty it, or fill it before the first run.

Kept are what compilers made of kernels, the reports of banksim check, and banksim's own loops, compiled for this
machine. All of it is made anew when it is missing: the first run then takes longer.
"""

from argparse import ArgumentParser, Namespace

EXAMPLE = """\
  banksim cache
  banksim cache warm
  banksim cache clear"""
ACTIONS = {
    "path": "print the folder alone",
    "size": "print the bytes alone",
    "clear": "empty it",
    "warm": "compile what the first runs would compile",
}


def options(parser: ArgumentParser) -> None:
    what = "; ".join(f"{name}: {purpose}" for name, purpose in ACTIONS.items())
    parser.add_argument("action", nargs="?", choices=ACTIONS, metavar="ACTION", help=f"{what}; else all that is known")
    parser.add_argument("--json", action="store_true", help="print what is known as JSON")


def run(options: Namespace) -> int:
    from banksim.system import cache
    from banksim.system.cached_files import clear, contents

    if options.action == "path":
        print(cache.folder())
        return 0
    if options.action == "warm":
        from banksim.runs.warming import warm

        warm()
    if options.action == "clear":
        clear()
    found = contents()
    if options.action == "size":
        print(sum(one.bytes for one in found))
    elif options.json:
        from banksim.report.json import document

        print(document("cache", contents=[one.to_json() for one in found]))
    else:
        from banksim.wording import plural

        for one in found:
            print(f"{one.what}: {plural(one.files, 'file')}, {one.bytes / 1e6:,.1f} MB\n  {one.folder}")
    return 0
