"""Swaps a file that is handed back for a link, over and over, until it is killed."""

import os

from attempt import outside

if os.fork() == 0:
    while True:
        os.symlink(outside["secret"], "link")
        os.rename("link", "swapped")
        with open("file", "w") as file:
            file.write("mine")
        os.rename("file", "swapped")
while not os.path.exists("swapped"):
    pass
print("held")
