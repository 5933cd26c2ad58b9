"""YAML and JSON as people and models write them, read within bounds; errors say line and column.

`yaml_text` reads plans, policies, personas and cases, `json_text` plans, lines and artifacts. Pure.
May be imported by `task_ir`, `failure_policy`, `gates`, `memory`, `toolsets`, `parl`,
`flows` and `evals`.
"""
