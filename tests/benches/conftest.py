"""Makes the benches importable; behind all else, for their names are those of other modules too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benches"))
