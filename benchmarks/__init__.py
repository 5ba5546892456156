"""What Remit costs, measured against peers that do the same work on the same machine in the same minute."""
