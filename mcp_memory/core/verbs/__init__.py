"""Answers the requests that search, recall, store, change and forget notes."""
