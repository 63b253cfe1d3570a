"""A first look at a log that nobody configured yet: a sample, what it is, what it shows, and a configuration that reads it."""
