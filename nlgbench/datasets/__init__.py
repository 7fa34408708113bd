"""Released files, fetched by hash, and a loader for each public study."""
