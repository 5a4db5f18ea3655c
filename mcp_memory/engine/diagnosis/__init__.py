"""Finds faults of a vault or its state folder, each with a remedy."""
