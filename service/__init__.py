"""How people and programs reach Remit."""
