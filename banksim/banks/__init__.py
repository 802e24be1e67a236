"""What requests cost: the bank rule (`rule`, read it first), its compiled twins, and what is found per site.

rule.py           the rule, one request at a time: read it first
replay.py         the rule over arrays of requests
conflicts.py      the result: counts by site
source_lines.py   the same by source line
pieces.py         the rule over traces, piece by piece
comparison.py     two results side by side
limits.py         how much is allowed, and what is excused
compiled/         the rule compiled, for many requests
"""
