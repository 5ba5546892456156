"""How a run flows, and what drives it."""
