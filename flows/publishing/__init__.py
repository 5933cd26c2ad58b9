"""The pages of a run in the Prefect UI, kept up to date beside the run. They never cost it."""
