"""Gleaning: what a session's transcript holds that is worth remembering, found by rules and without a model.

Imports transcripts, text, models and errors; pure, but for the tables of languages, which are read once. Keeps this
promise: only a person's own words count as theirs, never what a tool, a page, a quotation or the assistant says.

candidate  one thing worth remembering, in the words that it was said in
spoken     of a person's message, the sentences that are their own
language   what people say, by language: the tables of `languages/`
claims     what a sentence claims: a preference, a decision, a correction, a fact
fixes      errors, and what got rid of them
gleaner    messages in, candidates out
asking     the same by a language model: what it is asked, and what of its answer stands in the sources
coverage   what a transcript held, beside what memory holds
"""
