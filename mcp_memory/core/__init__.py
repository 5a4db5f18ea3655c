"""The parts that every user needs: storage, index, search, recall and the verbs on notes. Features are built on them.

`opening` makes a `Core` of a vault; `verbs` answer its requests; `feature` defines what a feature adds.
"""
