"""What happens: one step of a run in each file."""
