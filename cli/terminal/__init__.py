"""Terminal output of commands: progress, tables, summaries, and files."""
