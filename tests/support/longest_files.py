"""The test files that take longest. They begin first, so that all processes end together."""

from __future__ import annotations

from pathlib import Path

__all__ = ["LONGEST"]

_TESTS = Path(__file__).parents[1]

LONGEST = [
    _TESTS / name
    for name in (
        "test_server_services.py",
        "docs/commands/test_deploying.py",
        "flows/prefect_io/test_in_both_uis.py",
        "flows/prefect_io/test_suspending.py",
        "flows/test_pools.py",
        "cli/test_as_a_user.py",
        "docs/commands/test_lists.py",
        "test_deployment.py",
        "flows/killed/test_cluster.py",
        "gates/python/test_unit.py",
        "flows/prefect_io/test_from_python.py",
        "parl/train/test_served.py",
        "parl/test_retrain.py",
        "gates/python/test_judged.py",
        "cli/test_bad_input.py",
        "flows/test_starting_again.py",
        "docs/commands/test_sessions.py",
        "cli/test_output_encodings.py",
        "flows/test_python.py",
        "flows/killed/test_calls.py",
        "flows/test_fork.py",
        "flows/provider/test_busy_providers.py",
        "flows/prefect_io/test_orphaned_task_runs.py",
        "flows/test_large_plans.py",
    )
]
"""By what they took, the longest first."""
