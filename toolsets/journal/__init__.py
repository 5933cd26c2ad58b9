"""The journal of an attempt's calls of tools: what was asked, what is certain, and what is not."""
