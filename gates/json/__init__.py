"""The gate for JSON, and whether a value fits a JSON Schema."""
