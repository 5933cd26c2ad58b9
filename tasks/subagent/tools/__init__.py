"""An attempt whose agent has tools: answers and calls in turns, until it has answered.

Each turn and call is journaled before it is made (`toolsets.journal`).
May be imported by `tasks` and `flows`.
"""
