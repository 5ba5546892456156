"""A ticket service as others run one, for trying Remit against a target that is not its own."""
