"""The gate for JSON, and reading JSON strictly.

May be imported by `gates` and `flows`.
"""
