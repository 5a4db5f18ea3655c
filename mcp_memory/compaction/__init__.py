"""Files fresh notes under topics, one journalled job at a time.

A job is planned (`topics.plan`), built into steps with its page written (`job_builder`), journalled, then executed step
by step. The next start finishes an interrupted job from the journal, and a run can be undone. Keeps invariant 8: every
note is reachable exactly once, even after an interrupted run.
"""
