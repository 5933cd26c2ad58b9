"""Makes files without end, all empty."""

import os

made = 0
try:
    while made < 1_000_000:
        os.close(os.open(f"{made}", os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError:
    print("held")
