"""Search the web and fetch pages; private addresses are refused."""
