"""The sections of a report, one per file, each a pure function from the table of runs to HTML."""
