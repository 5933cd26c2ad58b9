"""Gates for texts: length, sections, form, citations, repetition. Pure.

May be imported by `gates`.
"""
