"""How long an agent waits for its memory. By itself, because `hook` must not wait for anything else."""

SESSION_START_MS = 1500
"""Half of the three seconds that `install` gives a hook, less than the two of OpenClaw's plugin. On two cores with a
load of 17 a session's start took .38 s (median), .55 s at the 90th of 100 and .56 s at most (30 calls), while 500 ms
leave .425 s for the answer."""

PROMPT_MS = 300
