"""The block for the table of what failures lead to."""

from __future__ import annotations

from prefect.blocks.core import Block
from pydantic import Field

from ..store.failure_policy import Policy

__all__ = ["FailurePolicy"]


class FailurePolicy(Block):
    """What the failures of a swarm's steps lead to; a run takes it by its option `policy_block`.

    Example:
        Load a stored policy and run with it:
        ```python
        from prefect_swarm.blocks import FailurePolicy

        failure_policy_block = FailurePolicy.load("BLOCK_NAME")
        policy = failure_policy_block.get_policy()
        ```
    """

    _block_type_name = "Failure Policy"
    _block_type_slug = "failure-policy"
    _documentation_url = "https://docs.prefect.io/v3/concepts/blocks"  # pyright: ignore[reportAssignmentType]

    policy: Policy = Field(
        default_factory=Policy,
        title="Policy",
        description="The table and its bounds.",
    )

    def get_policy(self) -> Policy:
        """Return the table."""
        return self.policy
