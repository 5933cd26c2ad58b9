"""What commands show on a terminal: progress, tables, summaries, and files."""
