"""Models the topic tree as values: which notes belong together, and what its pages say. Pure."""
