"""Others' texts in a prompt: each between marks that none of them has, so none passes for another.

The one place where a step's output, a document, a tool's result or a memory is delimited. Pure.
May be imported by `toolsets`, `blocks`, `tasks` and `flows`.
"""
