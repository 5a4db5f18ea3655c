"""The commands for the first ten minutes: setup and demo."""
