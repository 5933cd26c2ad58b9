"""What follows from the memory for a step: persona, tier, expected time, lessons, with evidence.

Pure, but for `after_run` and `precedents`, which read the memory.
"""
