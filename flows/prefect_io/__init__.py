"""What a run asks of the Prefect server and its UI: flow runs, task runs, pages, forms."""
