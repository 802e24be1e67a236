"""Pages: one file each, no network."""
