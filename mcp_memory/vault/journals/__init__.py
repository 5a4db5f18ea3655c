"""The journals in the state folder: which notes we wrote, forgot, and added to shared files."""
