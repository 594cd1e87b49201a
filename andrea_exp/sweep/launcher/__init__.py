"""Who executes the frozen directories of a sweep: one module and one yaml per launcher."""
