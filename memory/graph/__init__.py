"""The graph of attempts, failures and mitigations, in Kuzu.

Derived from the log. Its writer is a process of its own; `database` alone imports kuzu.
"""
