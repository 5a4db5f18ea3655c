"""Collects claims about projects, people, services and tools, each with its evidence and confidence."""
