"""Texts to unit vectors, by a model on disk or an endpoint, chosen by name.

Imports nothing heavy before a model is opened. Nothing leaves the machine unless an endpoint is configured.
"""
