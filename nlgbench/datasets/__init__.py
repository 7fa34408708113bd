"""Released files by name and hash, one loader per study, and the published numbers."""
