"""A local web page for people: see, correct and trust what agents remember.

`feature` mounts it at `/ui`. A view is a module of `views` and a template of the same name.
"""
