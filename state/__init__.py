"""What a run knows: plain values, with no I/O."""
