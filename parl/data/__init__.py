r"""Generator of training pairs for the orchestrator: objectives and their plans in lines.

    generate.generate(seed, count)      the pairs; `kinds=` and `part=` select patterns
    python -m prefect_swarm.parl.data check [--notes] [FILE ...]
    python -m prefect_swarm.parl.data show [--kind K] [-n 20] [--seed S] [--noise] [FILE ...]

`words/*/*.txt` contain lists (see `lists`), `patterns/*/*.txt` contain blocks (see `blocks`). The
folders sort patterns by the shape of their plans, and words by the patterns that use them or by
subject. What a seed draws depends on neither file nor folder. An example of a block:

    kind compare_choose                 the kind of the block
    with x = 2..5 pets/small_dogs       the values of its slots (see `variables`)
    with use = home_uses
    ask Which of {x|or} is the best {use}? <Look at each first.|>
    ask {x|vs} as {use}
    step a[x] = {x|title} Expert: Describe {x} as {use}
    step j = Judge: Choose {x|or} as {use} < a

One `ask` is chosen at random. All of them mean the same plan: the block's steps, in their order
(see `steps`). Templates have slots and alternatives (see `template`), slots have filters:

    {x}  {x.field}  {x#}                an entry, or a list of several; a field; its number
    {x: to {x}|or}                      a text for each entry, joined; also first, rest, cap …
    {x|or}                              and, or, vs, commas, slash, semicolons; each entry on its
                                        own line: bullets, numbered, lines
    {x|cap}                             cap, lower, title (for an agent's name), quote
    {x|first}                           first, last, rest, most (all but the last), prev; n counts
    <a|b|>                              alternatives; \< \{ \| are plain characters, \n a line break

The values of `with` are drawn once for an example. Alternatives are drawn again in each place, but
the same for all entries of a step or a list. No entry of a list occurs twice in one example. At the
end `noise` changes the wording, but never the words that came from a slot.
"""
