"""What proposes the next turn of a run."""
