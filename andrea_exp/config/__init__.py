"""From `conf/` and the command line to typed configuration, through one door."""
