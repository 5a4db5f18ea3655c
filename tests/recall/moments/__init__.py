"""The moments at which an agent acts."""
