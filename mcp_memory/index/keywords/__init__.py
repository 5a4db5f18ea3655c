"""Words of notes, counted and ranked: tokenizer, postings, segments, BM25."""
