"""Texts to a shorter one: by choosing from them, or by a language model where one is configured.

Imports text, registry, endpoint, telemetry, errors. A language model improves a summary and never gates one: its
answers are judged, its cost is bounded, and where it fails the extractive summary stands in.

base        the contract, and what a summary is made from
extractive  the sources' own sentences, chosen: no model, no network
titles      a few phrases that say what notes have in common
rarity      how much a word tells
audit       what a summary has lost of its sources' facts
escalating  a language model's summary, else a terser one, else the extractive one
writing     what a language model offers: a prompt in, its answer out
openai      … an endpoint that speaks OpenAI's protocol
command     … a program
prompting   what it is told, by depth and mode
answers     what it says, judged
allowance   what it may cost
choose      one of them by name
"""
