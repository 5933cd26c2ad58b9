"""What the memory knows, as pages: of a persona over time, and what a lesson is made of. Pure."""
