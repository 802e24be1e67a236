"""Why padding lost in the laboratory's matrix products, before anyone runs anything on a GPU.

The machine code is the one that an H200 ran; banksim counts it here, the times were measured there.
"""

from cuda_kernels import catalogue, evidence_records
from cuda_kernels.predict import Prediction, predict

PRODUCTS = ("Global", "Tiled", "NoBarrier", "Pad", "PadUnrolled", "DynamicPad")
EVIDENCE = evidence_records.load(evidence_records.EVIDENCE)


def requests(found: Prediction, opcode: str) -> int:
    return sum(row.warps for row in found.rows if row.opcode == opcode)


def row(name: str) -> tuple[Prediction, float]:
    record = EVIDENCE.record(name)
    assert record is not None
    assert record.microseconds is not None
    found = predict(catalogue.entries()[name].launch(), record.cubin)
    excess = found.transactions - found.ideal
    print(
        f"{name:20} {excess:>9,} {requests(found, 'LDS'):>9,} {requests(found, 'LDS.128'):>8,} "
        f"{found.transactions:>12,} {found.instructions:>12,} {record.microseconds.median:>6.1f}"
    )
    return found, record.microseconds.median


print("C = A·B, 256 × 256 float32; conflicts: transactions beyond the ideal\n")
print(f"{'kernel':20} {'conflicts':>9} {'LDS':>9} {'LDS.128':>8} {'transactions':>12} {'instructions':>12} {'µs':>6}")
for tile in (16, 32):
    rows = {product: row(f"product{product}{tile}") for product in PRODUCTS}
    (plain, fast), (padded, slow) = rows["Tiled"], rows["Pad"]
    before = plain.transactions - plain.ideal
    wide, more = requests(plain, "LDS.128"), padded.instructions / plain.instructions
    gained = padded.transactions - padded.ideal - before
    print(
        f"  Tiles of {tile}: without padding {before} conflicts, so there is nothing to cure.\n"
        f"  Padding adds {gained:,}, turns {wide:,} loads of 16 bytes into loads of 4, takes\n"
        f"  {more:.2f} times the instructions and {slow / fast:.2f} times the time.\n"
    )
print(
    """The laboratory measured the same on a T4 (N = 1024) and yet concluded that padding had helped:

  without padding               5.37 ms
  padding and unrolling         6.82 ms
  dynamic shared, padded        7.09 ms
  padding                       0.716 ms: a run with N = 512, as the values of C show; eight times that is 5.73 ms

NoBarrier is wrong on purpose: one of its barriers is missing, so its result depends on which warp is faster.
Padding helps where a tile is stored or read by columns: productTransposedA against productTransposedAPad."""
)
