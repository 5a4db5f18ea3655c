"""A small tree, offline: six notes about two subjects become two topics. Prints the tree.

Run it with `python small_tree.py`; it works in a temporary folder and leaves nothing behind.
"""

import tempfile

from mcp_memory import Memory

NOTES = [
    "Sourdough bread: bakes 45 minutes at 230 degrees.",
    "Sourdough bread: feed the starter the evening before.",
    "Sourdough bread: the dough rises four hours.",
    "Telescope: shows four moons of Jupiter.",
    "Telescope: Jupiter is best seen at midnight.",
    "Telescope: clean the mirror before watching Jupiter.",
]

with tempfile.TemporaryDirectory() as folder, Memory.open(folder) as memory:
    for text in NOTES:
        memory.append(text)
    memory.settled()  # topics are made of vectors
    memory.compact()
    print(memory.tree_index())
    best = memory.find("when does the bread go into the oven", top_k=1)[0]
    print("\nanswer:", best.text, best.properties["kind"])
