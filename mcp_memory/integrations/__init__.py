"""Wiring: what is put into the configuration files of agents' programs, and how it is taken out again.

Edits are pure functions on text that leave every other byte alone; only `files` reads and writes. Imports errors and
storage's names for the causes of refusals. Keeps two promises: no file is ever left half written or broken, and
uninstalling leaves it as it was.
"""
