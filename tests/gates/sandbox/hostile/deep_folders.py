"""Makes folders in folders without end."""

import os

made = 0
try:
    while made < 1_000_000:
        os.mkdir("x")
        os.chdir("x")
        made += 1
except OSError:
    print("held")
