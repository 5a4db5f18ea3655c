from mcp_memory import errors
from mcp_memory.client.stdio_proxy import DaemonLost
from mcp_memory.errors import IndexReplaced, McpMemoryError


def test_codes_stay_what_clients_know():
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, McpMemoryError)}
    assert codes == {
        "already_exists", "busy", "config_invalid", "deadline_exceeded", "embedder_unavailable", "error",
        "extra_missing", "git_unavailable", "index_unavailable", "invalid_input", "not_found", "not_running",
        "path_refused", "precondition_failed", "refused", "still_reading", "storage_failed", "summarizer_unavailable",
        "unusable",
    }  # fmt: skip
    assert (IndexReplaced.code, DaemonLost.code) == ("index_unavailable", "not_running")
