"""The spans of a run: its own, its steps' and their attempts'.

Where nobody takes spans, nothing is made of them.
May be imported by `flows`.
"""
