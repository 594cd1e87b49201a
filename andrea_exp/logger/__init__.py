"""Where a run can be watched while it trains: a view of the record, which training never needs."""
