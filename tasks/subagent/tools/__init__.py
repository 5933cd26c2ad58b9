"""An attempt whose agent has tools: answers and calls in turns, until it has answered."""
