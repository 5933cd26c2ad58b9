"""The tools of an attempt: bounded, journaled and told as events.

`verdict`, `repeats`, `masking` and `result_text` are pure; `journaled` makes the calls.
May be imported by `toolsets`, `tasks` and `flows`.
"""
