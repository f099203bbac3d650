"""What a report shows: each module makes sections of saved results, and knows nothing of how they are drawn."""
