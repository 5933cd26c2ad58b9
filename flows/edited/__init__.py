"""Plans that a person edits: read and written as YAML, and what stays of what was done.

`plan_file` and `unchanged` are pure; `applied` puts an edited plan in the place of a run's.
May be imported by `flows` and `cli`.
"""
