"""One file per command of the command line, found by scanning this folder.

Each defines `register(commands)` (adds its parser, sets `run`) and must import nothing heavy at module level: `detector --help` loads all of them.
"""
