"""Gates for texts: length, sections, form, citations, repetition. Pure."""
