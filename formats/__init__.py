"""YAML and JSON as people and models write them, read within bounds; errors say line and column.

`clauses` says what is wrong with a value, `nesting` how deep it is. Pure.
"""
