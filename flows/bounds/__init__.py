"""What a call may take, what a run may spend, and what it is likely to cost.

Pure, but for `ledger`, which keeps the accounts, and `summaries`, which asks a model.
"""
