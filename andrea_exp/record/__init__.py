"""What a run leaves behind: its directory, and how that is written and read again."""
