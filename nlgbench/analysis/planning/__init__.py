"""Planning: how many judgments a question needs, and when enough have been bought."""
