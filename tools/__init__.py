"""What may be done to the world, and the one door to it."""
