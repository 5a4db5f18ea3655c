"""Lines beside recalled notes: what replaced them, and what they are linked with."""
