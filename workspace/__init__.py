"""A copy of a user's folder as a git repository of the run's own; the folder is only read.

`git` calls git, `base` records a folder, `repository` has trees, patches and merges, and `names`
says which files a patch may have.
"""
