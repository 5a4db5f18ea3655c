"""Commands that measure retrieval: eval, calibrate."""
