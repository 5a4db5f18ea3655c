"""Finds secrets by their form, and redacts them."""
