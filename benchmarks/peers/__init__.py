"""The other sides of the comparisons: small programs of our own against published packages."""
