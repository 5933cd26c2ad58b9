"""Has links handed back instead of files."""

import os

from attempt import outside

os.symlink(outside["secret"], "symlink")
os.symlink("/etc/hostname", "absolute")
os.symlink("/proc/self/environ", "environ")
os.mkdir("real")
with open("real/file", "w") as file:
    file.write("inner")
os.symlink("real", "folder")
os.symlink("/", "root")
os.mkfifo("fifo")
with open("honest", "w") as file:
    file.write("honest")
os.link("honest", "twin")
os.mkdir("directory")
with open("closed", "w") as file:
    os.chmod("closed", 0)
print("held")
