"""Pages of a run as data, and as Markdown, HTML, SVG and lines of text."""
