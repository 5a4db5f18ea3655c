"""Runs background work, one job at a time, when nobody is being served; a job that a crash interrupted runs again."""
