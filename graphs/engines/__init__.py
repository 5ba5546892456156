"""The engines: ways to drive the same flow."""
