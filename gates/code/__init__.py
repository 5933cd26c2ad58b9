"""Gates that read code without running it: format, lint, types, ShellCheck.

They run tools on files of their own; comments that silence a tool have no effect.
"""
