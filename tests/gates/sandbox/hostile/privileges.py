"""Looks for privileges that were left."""

with open("/proc/self/status") as file:
    status = dict(line.split(":", 1) for line in file)
left = [
    name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status[name], 16)
]
print("held" if not left and int(status["NoNewPrivs"]) and int(status["Seccomp"]) == 2 else left)
