"""The patterns as graphs of LangGraph."""
