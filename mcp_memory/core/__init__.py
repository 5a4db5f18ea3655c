"""What every user needs: storage, index, search, recall and the verbs on notes. Features are built on it.

`opening` makes a `Core` of a vault; `verbs` answer its requests; `feature` says what a feature adds.
"""
