"""Objectives said as people say them: slips, small talk, other spellings. Pure.

May be imported by `parl.data`.
"""
