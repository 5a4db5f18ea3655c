"""Lists the questions that memory could not answer."""
