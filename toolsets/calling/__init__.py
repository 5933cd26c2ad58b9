"""The tools of an attempt: bounded, journaled and told as events.

`verdict`, `repeats`, `shown`, `masking`, `key_forms` and `result_text` are pure; `journaled` makes the calls.
May be imported by `toolsets`, `tasks` and `flows`.
"""
