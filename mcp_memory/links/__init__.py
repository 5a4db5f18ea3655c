"""What hangs together: the links between notes as a graph, which of them are broken, and repairing these.

Promise: a link is changed only where one note alone can be meant; every change can be taken back.
"""
