"""All that is kept of a run: its folder, result, events, questions and accounts. No Prefect."""
