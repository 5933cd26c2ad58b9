"""Has the kernel end others first where memory is short, and writes to the rest of /proc."""

from pathlib import Path

from attempt import refused

SELF = Path("/proc/self")

refused(
    lambda: (SELF / "oom_score_adj").write_text("0"),
    lambda: (SELF / "oom_score_adj").write_text("-1000"),
    lambda: (SELF / "oom_adj").write_text("0"),
    lambda: Path("/proc/thread-self/oom_score_adj").write_text("0"),
    lambda: (SELF / "coredump_filter").write_text("255"),
    lambda: (SELF / "uid_map").write_text("0 0 1"),
)
if (SELF / "oom_score_adj").read_text() != "1000\n":
    print("it would be spared")
