"""A model file that another process of this machine serves.

Records of the servers of this machine, requests to them (`wire`), and the way back to this process.
"""
