"""Answers what is asked and decided about claims."""
