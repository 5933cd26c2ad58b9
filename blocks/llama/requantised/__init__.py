"""Model files whose tensor types have no fast kernel on this processor, written anew once.

`kernels` and `choice` decide, `quantiser` writes, `once` makes a file for all processes once.
"""
