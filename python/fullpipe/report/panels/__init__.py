"""What a report shows: each module makes sections of kept results, and knows nothing of how they are drawn."""
