"""Sharing: a topic in a folder of its own, for another vault or other people. The vault is only read.

parcel      what is shared of a topic, and what is left out and why; read-only, so that a daemon may be asked
containing  links that stay within what is shared
folder      the folder that it goes to: what to do there, done by the process of the person who asked
"""
