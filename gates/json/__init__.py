"""The gate for JSON, and whether a value fits a JSON Schema.

May be imported by `gates` and `flows`.
"""
