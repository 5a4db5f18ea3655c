"""One module a format: other programs' notes read in, and the vault written out."""
