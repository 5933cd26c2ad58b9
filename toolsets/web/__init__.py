"""Search the web and fetch pages; private addresses are refused.

pydantic-ai's search and fetch, bounded.
May be imported by `flows`.
"""
