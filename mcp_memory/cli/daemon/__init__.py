"""Commands for the daemon and its state: start, stop, status, doctor, service, config, token."""
