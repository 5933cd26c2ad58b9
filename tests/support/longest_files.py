"""The test files that take longest. They begin first, so that all processes end together."""

from __future__ import annotations

from pathlib import Path

__all__ = ["LONGEST"]

_TESTS = Path(__file__).parents[1]

LONGEST = [
    _TESTS / name
    for name in (
        "test_server_services.py",
        "models/llama/test_batcher.py",
        "flows/test_pools.py",
        "parl/train/test_served.py",
        "docs/commands/test_deploying.py",
        "flows/prefect_io/test_suspending.py",
        "models/llama/test_model_memory.py",
        "flows/prefect_io/test_from_python.py",
        "flows/prefect_io/test_concurrency_limits.py",
        "parl/test_retrain.py",
        "flows/prefect_io/test_in_both_uis.py",
        "flows/test_elicitation.py",
        "examples/test_jobs.py",
        "flows/prefect_io/test_ready_automations.py",
        "flows/cluster/test_faults.py",
        "cli/test_as_a_user.py",
        "store/test_run_store.py",
        "docs/commands/test_lists.py",
        "flows/prefect_io/test_storage.py",
        "tasks/subagent/test_compacted_attempts.py",
        "gates/python/test_judged.py",
        "test_deployment.py",
        "flows/test_pool_homes.py",
        "models/llama/test_answer.py",
        "flows/test_embedded_replan.py",
        "docs/commands/test_sessions.py",
        "test_typed_results.py",
        "test_prefect_yaml.py",
        "flows/killed/test_cluster.py",
        "gates/python/test_unit.py",
        "cli/test_bad_input.py",
        "flows/test_starting_again.py",
        "cli/test_output_encodings.py",
    )
]
"""By what they took, the longest first."""
