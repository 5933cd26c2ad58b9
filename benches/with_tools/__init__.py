"""Agents with tools that fill a table: the documents, a scripted reader, and what it all takes."""
