"""How databases of earlier versions become those of today: forward only, one file for each step."""
