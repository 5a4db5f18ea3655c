"""A deep tree, offline: two projects with their subjects, and subjects of no project. Prints each topic with its place.

Run it with `python deep_tree.py`; it works in a temporary folder and leaves nothing behind.
"""

import tempfile

from mcp_memory import Memory

SUBJECTS = {
    "shop": {
        "Checkout": ["retries a failed payment twice", "stores the basket for 30 days", "asks for the address once"],
        "Search index": ["is rebuilt every night at 2", "keeps synonyms in a file", "weighs titles three times"],
        "Staging database": ["is Postgres 16 on port 5433", "is dumped at 2:30", "restores in 11 minutes"],
    },
    "blog": {
        "Image pipeline": ["makes WebP in three widths", "strips the camera's place", "runs before each deploy"],
        "Comment spam": ["is held for review", "is learned from each Friday", "never mails the author"],
    },
    None: {
        "Japan trip": ["begins on 12 April", "needs the rail pass for Hiroshima", "ends in a Kyoto ryokan"],
        "Balcony garden": ["has tomatoes in the south", "is watered at six", "got a drip hose in May"],
    },
}

with tempfile.TemporaryDirectory() as folder, Memory.open(folder) as memory:
    for project, subjects in SUBJECTS.items():
        for subject, facts in subjects.items():
            for fact in facts:
                memory.append(f"{subject}: it {fact}.", kind="fact" if project else "note", project=project)
    memory.settled()
    memory.compact()
    for top in memory.tree():
        for topic in top.walk():
            below = f"below {topic.parent}" if topic.parent else "at the top"
            print(f"{topic.path}: {topic.title}, {topic.notes} notes, {below}")
            for note in topic.children:
                print(f"    {note.kind}  {note.title}  {note.id}")
    print(memory.recall("what do we know about the Japan trip", budget_tokens=300))
