"""The base of every process: worker threads with deadlines, health, private files, paths, time zone, back ends."""
