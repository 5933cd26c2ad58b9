"""What a run's folder keeps of it, and what another process takes from there.

Ledger, plan, facts and outputs; what may change on resuming (`changes`) is pure.
"""
