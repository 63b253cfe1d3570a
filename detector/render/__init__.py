"""Reports as text, JSON and Markdown. Every string from a log is made inert here; no content of an answer is shown unless it was asked for."""
