"""Commands that move notes in and out: import, export, share."""
