"""What every process needs: worker threads with deadlines, health, private files, paths, time zone, back ends."""
