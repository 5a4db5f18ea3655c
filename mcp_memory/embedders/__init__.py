"""Turn texts into unit vectors with a local model or an endpoint.

Imports nothing heavy before a model is opened. Nothing leaves the machine unless an endpoint is configured.
"""
