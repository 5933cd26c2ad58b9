"""The answer of a run, as text or as a type that code asks for.

`answering` takes the final step's output or has one written; `answer_type` holds it to a schema.
May be imported by `flows` and `evals`.
"""
