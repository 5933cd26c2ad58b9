"""Has more handed back than fits."""

import os

for name in ("first", "second"):
    with open(name, "wb") as file:
        os.truncate(file.fileno(), 24 << 20)
print("held")
