"""Two runs side by side: their plans, answers and figures."""
