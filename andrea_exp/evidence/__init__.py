"""What paired differences over seeds say: tests, intervals and the rule of verdicts."""
