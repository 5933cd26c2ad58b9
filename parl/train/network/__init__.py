"""The base model's computation with an adapter on every matrix, in torch.

The weights are read from the file that is served.
"""
