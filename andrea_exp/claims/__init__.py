"""What an experiment claims before its runs, and what these say of it afterwards."""
