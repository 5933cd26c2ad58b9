"""Gates of patches: what a change of a workspace has to hold before anything depends on it."""
