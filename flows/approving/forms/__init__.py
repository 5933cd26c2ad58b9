"""What a run asks a person, as a form in the Prefect UI, and what comes back of it."""
