"""Answers what is asked and decided about claims, and of questions without an answer."""
