"""The tools of an attempt: bounded, journaled and told as events.

Pure are `verdict`, `repeats`, `shown`, `masking`, `key_forms` and `result_text`; `journaled` calls.
"""
