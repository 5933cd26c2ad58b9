"""Training pairs for the orchestrator, made from patterns and word lists."""
