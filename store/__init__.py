"""Storage of a run: folder, result, events, questions and accounts. No Prefect."""
