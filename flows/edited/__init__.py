"""Plans that a person edits: read and written as YAML, and what stays of what was done."""
