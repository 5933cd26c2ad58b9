"""What a run asks a person, and what they answered: written down before anything acts on it.

Questions and answers (`question`, pure), their files (`store`), a run that is left (`waiting`).
"""
