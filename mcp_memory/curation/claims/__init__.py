"""What notes say about projects, people, services and tools: each claim with its evidence, and how sure it is."""
