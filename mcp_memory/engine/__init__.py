"""The façade over all rooms below: typed requests in, plain answers out. Owns the one task group.

`factory` opens a vault, `engine` passes each request to what answers it, `serializers` gives answers their JSON form.
"""
