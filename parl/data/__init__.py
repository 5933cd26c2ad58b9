r"""Training pairs for the orchestrator: objectives as people say them, and their plans in lines.

    generate.generate(seed, count)      the pairs; `kinds()` and `part=` choose among the patterns
    python -m prefect_swarm.parl.data check [--notes] [FILE ...]
    python -m prefect_swarm.parl.data show [--kind K] [-n 20] [--seed S] [--dress] [FILE ...]

`words/*/*.txt` hold lists (see `lists`), `patterns/*/*.txt` hold blocks (see `blocks`). The folders
sort patterns by the shape of their plans, words by the patterns that use them, or by subject. What
a seed draws depends on neither file nor folder. A block is such as

    kind compare_choose                 the kind that the block belongs to
    with x = 2..5 pets/small_dogs       what its slots hold (see `variables`)
    with use = home_uses
    ask Which of {x|or} is the best {use}? <Look at each first.|>
    ask {x|vs} as {use}
    step a[x] = {x|title} Expert: Describe {x} as {use}
    step j = Judge: Choose {x|or} as {use} < a

One `ask` is taken at random, and all of them mean the same plan: its steps, in the order written
(see `steps`). Templates have slots and alternatives (see `template`), slots have filters:

    {x}  {x.field}  {x#}                an entry, or a list of several; a field; its number
    {x: to {x}|or}                      a text for each entry, joined; also first, rest, cap …
    {x|or}                              and, or, vs, commas, slash, semicolons, and on lines of
                                        their own bullets, numbered, lines
    {x|cap}                             cap, lower, title (for an agent's name), quote
    {x|first}                           first, last, rest, most (all but the last), prev; n counts
    <a|b|>                              alternatives; \< \{ \| are the plain signs, \n a line break

What is chosen by `with` is chosen once an example; alternatives are drawn again at each place, but
alike for all entries of a step or a list. No entry of a list comes twice in one example. Then
`registers` decide how a person says it, without touching what came from a slot.
"""
