"""All traffic with the Prefect server and its UI: flow runs, task runs, pages, forms."""
