"""What the orchestrator looks at with tools before it plans."""
