"""One reader of what models answer: each answer gets one form before anything else sees it.

Ends, errors, reasoning, calls, arguments and usage, as providers really send them. Pure, but for
the models in `compatible` and `call_ids`.
"""
