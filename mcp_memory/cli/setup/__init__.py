"""The setup command and its steps."""
