"""Parity with the reference: its transitions replayed one env step at a time."""
