"""Cuts notes into chunks: exact slices that search ranks."""
