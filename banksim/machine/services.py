"""Everything that both engines have done by the host, by name."""

from banksim.machine import bulk_calls, calls_of_launches
from banksim.machine.driver_calls import CALLS, Service

SERVICES: dict[str, Service] = {
    **CALLS,
    **calls_of_launches.CALLS,
    "copy_to_cluster": bulk_calls.copy_to_cluster,
    "reduce_out": bulk_calls.reduce_out,
    "reduce_in_cluster": bulk_calls.reduce_in_cluster,
    "tensor_in": bulk_calls.tensor_in,
    "tensor_arrives": bulk_calls.tensor_arrives,
    "tensor_out": bulk_calls.tensor_out,
}
