"""What is true: the ledger and the business store."""
