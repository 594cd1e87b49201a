"""One self-contained HTML page for one run or many, built from their directories alone."""
