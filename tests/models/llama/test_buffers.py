"""Reserved memory is read from llama.cpp's log."""

from __future__ import annotations

from prefect_swarm.models.llama.residency import MemoryUse, is_buffer_line, reserved

LOG = """\
load_tensors:   CPU_Mapped model buffer size =    92.50 MiB
llama_context:        CPU  output buffer size =     0.50 MiB
llama_kv_cache:        CPU KV buffer size =   360.00 MiB
llama_kv_cache: size =  360.00 MiB (  4096 cells,  30 layers,  4/4 seqs), K (f16):  180.00 MiB
sched_reserve:        CPU compute buffer size =    24.00 MiB
load: token to piece cache size = 0.3170 MB
"""
MIB = 2**20


def test_the_models_buffers_are_weights_and_all_others_its_contexts() -> None:
    assert reserved(LOG.splitlines()) == MemoryUse(int(92.5 * MIB), int(384.5 * MIB))


def test_sums_and_other_sizes_are_no_buffers() -> None:
    assert [is_buffer_line(line) for line in LOG.splitlines()] == [
        True,
        True,
        True,
        False,
        True,
        False,
    ]
