"""What runs inside the sandbox: it imports the standard library and nothing of this package.

It never knows what result is right. Its files are read as text and run there, not imported.
"""
