"""Says what happened in a session, a day, a week or any other time, in pages that no ordinary search answers from.

Keeps the promise that what was forgotten is in no page, and that a page which you changed or removed is left alone."""
