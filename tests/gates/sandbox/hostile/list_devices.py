"""Looks for more devices than it is given."""

import os

wanted = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm"}
print("held" if set(os.listdir("/dev")) == wanted else os.listdir("/dev"))
