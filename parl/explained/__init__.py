"""Where the time of a run went: its end followed back to its beginning. Pure.

`tiling` fills some time with what is known of it, and `walk` puts the stretches together.
`heard` reads those of the whole run out of its events, `turns` those of attempts out of its steps.
May be imported by `flows`.
"""
