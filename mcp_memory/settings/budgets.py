"""How long an agent waits for its memory. By itself, because `hook` must not wait for anything else."""

SESSION_START_MS = 500
PROMPT_MS = 300
