"""Search, list and open the documents of folders that the user names; nothing outside is read.

Pure, but for `folder`, `reading` and `library`. Links are not followed.
"""
