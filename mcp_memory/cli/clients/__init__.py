"""Commands that connect agents' clients: install, uninstall, plugin, hooks, headers, stdio."""
