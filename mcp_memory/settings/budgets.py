"""How long an agent waits for its memory. By itself, because `hook` must not wait for anything else."""

SESSION_START_MS = 1500
"""Half of the three seconds that `install` gives a hook, and with a prompt's less than the two of OpenClaw's plugin. On
two cores with a load of 19 a session's start was answered in .26 s (median) and within .5 s (of 40); with 500 ms one in
five was not."""

PROMPT_MS = 300
