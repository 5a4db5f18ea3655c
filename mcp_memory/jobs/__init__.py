"""Runs background jobs one at a time while the engine is idle; a job that a crash interrupted runs again."""
