"""The engines: three ways to drive the same flow."""
