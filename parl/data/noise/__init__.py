"""Objectives said as people say them: slips, small talk, other spellings. Pure."""
