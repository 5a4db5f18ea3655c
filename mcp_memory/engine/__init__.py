"""The façade over all rooms below: typed requests in, plain answers out.

`factory` opens a vault and puts the parts together, `engine` hands each request to the part that answers it, `requests`
names what can be asked, `serializers` gives answers their JSON form. Owns the one task group.
"""
