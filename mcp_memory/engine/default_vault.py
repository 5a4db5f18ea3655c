"""Where the vault is unless a person says otherwise. By itself, because `headers` must not wait for anything else."""

DEFAULT_VAULT = "~/memory"
