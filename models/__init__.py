"""Models by name: resolved, limited, asked. `models/llama/` is the local engine."""
