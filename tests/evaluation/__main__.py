"""Measures how much of the evidence for a question comes back within a token budget, and what agents get with prompts.

    python -m tests.evaluation tests/eval/developer                       the table
    python -m tests.evaluation tests/eval/developer --ablate dense        and what vectors add
    python -m tests.evaluation tests/eval/developer --recall              and what of it memory_recall returns
    python -m tests.evaluation tests/eval/developer/prompts.jsonl         what agents get with prompts

`tests.evaluation.sets` describes the files of a set. Its vault is copied, and indexed with your configuration in a
folder of its own; your vault and its daemon are left alone. Figures come with their 95 % confidence interval.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.daemon.engine_client import engine_config
from mcp_memory.search.thresholds import UNSURE
from mcp_memory.settings.settings import load
from tests.evaluation.context import METRICS, TOKENS, ContextFigures, context_figures, context_json
from tests.evaluation.metrics import BUDGETS, Interval
from tests.evaluation.report import OVERALL, EvaluationReport, as_json, as_rows, difference, recall_report, report
from tests.evaluation.running import PARTS, Variant, brief, recall, run, state_folder, without
from tests.evaluation.sets import QuestionSet, read_set

NAME_WIDTHS = (25, 60)
"""The least and the greatest width of a table's first column."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m tests.evaluation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", type=Path, help="a folder with queries.jsonl and vault/, or a file beside a vault/")
    parser.add_argument("--budget", type=int, action="append", help="tokens to read; default 500, 1000, 2000")
    parser.add_argument("--ablate", action="append", default=[], choices=PARTS, help="also without this part")
    parser.add_argument("--recall", action="store_true", help="also what memory_recall returns")
    parser.add_argument("--distractors", type=Path, metavar="FOLDER", help="search these notes, too; none answers")
    parser.add_argument("--run", type=Path, metavar="FILE", help="write what came back to this file")
    parser.add_argument("--state", type=Path, metavar="FOLDER", help="keep the index here, for the next run")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser.parse_args()


def main() -> None:
    """Measures what the arguments ask for, and prints it."""
    asked = arguments()
    settings = load(os.environ)
    config = engine_config(settings)
    questions = read_set(asked.set)
    questions = questions.among(asked.distractors) if asked.distractors else questions
    lengths, budgets = questions.lengths(), sorted(set(asked.budget or BUDGETS))
    variants = [Variant(search=config.search), *(without(part, config.search) for part in asked.ablate)]
    has_prompts = any(question.is_prompt for question in questions.questions)
    with state_folder(asked.state) as place:
        answers = anyio.run(run, questions, config, variants, place, _tell)
        recalls = anyio.run(recall, questions, config, budgets, place, _tell) if asked.recall else []
        shown = anyio.run(brief, questions, config, place, _tell) if has_prompts else []
    bar = settings.recall.phases["prompt"].least_confidence if has_prompts else UNSURE
    whole, *others = (report(scores, lengths, budgets, bar) for scores in answers)
    ablations = dict(zip(asked.ablate, others, strict=True))
    recalled = recall_report(recalls, lengths) if recalls else None
    context = context_figures(shown) if shown else None
    if asked.run:
        asked.run.write_text("".join(f"{row}\n" for row in as_rows(answers[0])), encoding="utf-8")
    if asked.json:
        print(json.dumps(_figures(questions, whole, ablations, recalled, context), ensure_ascii=False))
        return
    for line in _lines(questions, whole, ablations, recalled, context):
        print(line)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _figures(
    questions: QuestionSet,
    whole: EvaluationReport,
    ablations: Mapping[str, EvaluationReport],
    recalled: EvaluationReport | None,
    context: Mapping[str, ContextFigures] | None,
) -> dict[str, Any]:
    return {
        "set": questions.name,
        "questions": len(questions.questions),
        **as_json(whole),
        "without": {name: as_json(other) for name, other in ablations.items()},
        **({"recall": as_json(recalled)} if recalled else {}),
        **({"context": context_json(context)} if context else {}),
        "baselines": questions.baselines,
    }


def _lines(
    questions: QuestionSet,
    whole: EvaluationReport,
    ablations: Mapping[str, EvaluationReport],
    recalled: EvaluationReport | None,
    context: Mapping[str, ContextFigures] | None,
) -> Iterator[str]:
    cell = _name_cell([questions.name, *whole.categories(), *whole.confidences, *questions.baselines])
    evidence = [metric for metric in whole.metrics if metric.startswith("evidence@")]
    yield from _table(questions, whole, evidence, cell)
    metrics = [*evidence, *(metric for metric in ("mrr@10", "note_recall@5") if metric in whole.metrics)]
    for name, other in ablations.items():
        yield cell(f"by {name}") + _gains(difference(whole, other, metric) for metric in metrics)
    if recalled:
        yield from _recall_rows(recalled, whole, cell)
    if ablations or recalled:
        yield "\nby PART: what it adds; * marks a difference beyond chance (95 %, paired bootstrap)."
    if recalled:
        yield "memory_recall: its budget also pays for its own words, paths and headings."
    if context:
        yield from _context_table(context, cell)


def _name_cell(names: Sequence[str]) -> Callable[[str], str]:
    """Makes a cell of the table's first column, which is as wide as the longest name, within bounds."""
    least, greatest = NAME_WIDTHS
    width = min(max(least, *map(len, names)), greatest)
    return lambda name: f"{name if len(name) <= width else f'{name[: width - 1]}…':<{width}} "


def _gains(gains: Iterator[Interval]) -> str:
    return f"{'':>6}" + "".join(f"{gain.mean:+9.3f}{' *' if gain.excludes_zero else '  '}" for gain in gains)


def _table(
    questions: QuestionSet, whole: EvaluationReport, evidence: Sequence[str], cell: Callable[[str], str]
) -> Iterator[str]:
    columns = [*evidence, "mrr@10", "note_recall@5"]
    titles = [metric.replace("evidence@", "ev@").replace("note_recall", "note") for metric in columns]
    yield (f"{cell(questions.name)}{'n':>6}{''.join(f'{title:>11}' for title in titles)}")
    for category in whole.categories() if whole.scores else []:
        figures = "".join(f"{whole.figure(metric, category).mean:>11.3f}" for metric in columns)
        yield f"{cell(category)}{len(whole.values(columns[0], category)):>6}{figures}"
    if whole.scores:
        spread = [whole.figure(metric) for metric in columns]
        yield f"{cell('  from')}{'':>6}{''.join(f'{interval.low:>11.3f}' for interval in spread)}"
        yield f"{cell('  to')}{'':>6}{''.join(f'{interval.high:>11.3f}' for interval in spread)}"
    for other, known in questions.baselines.items():
        cells = "".join(f"{known[m]:>11.3f}" if known.get(m) is not None else f"{'–':>11}" for m in columns)
        yield f"{cell(other)}{'':>6}{cells}"
    for kind, value in whole.aurocs.items():
        yield f"tells answerable from {kind}: AUROC {value:.3f}"
    if whole.aurocs:
        title = f"{'silent below a confidence of':<{len(cell('')) + 6}}"
        yield f"\n{title}{''.join(f'{threshold:>11.2f}' for threshold in whole.thresholds)}"
        for kind, confidences in whole.confidences.items():
            shares = "".join(f"{whole.silenced(kind, threshold):>11.3f}" for threshold in whole.thresholds)
            yield f"{cell(kind)}{len(confidences):>6}{shares}"
    if whole.latency_ms:
        yield f"a search takes {whole.latency_ms['p50']:.1f} ms, 95 of 100 at most {whole.latency_ms['p95']:.1f} ms"


def _recall_rows(recalled: EvaluationReport, whole: EvaluationReport, cell: Callable[[str], str]) -> Iterator[str]:
    evidence = "".join(f"{recalled.figure(metric).mean:>11.3f}" for metric in recalled.metrics)
    yield f"{cell('memory_recall')}{len(recalled.scores):>6}{evidence}"
    yield cell("  compared with the hits") + _gains(difference(recalled, whole, metric) for metric in recalled.metrics)
    yield f"{cell('  mean tokens returned')}{'':>6}{''.join(f'{mean:>11.0f}' for mean in recalled.tokens.values())}"


def _context_table(figures: Mapping[str, ContextFigures], cell: Callable[[str], str]) -> Iterator[str]:
    def row(found: ContextFigures, bound: str) -> str:
        values = {metric: getattr(interval, bound) for metric, interval in found.metrics.items()}
        texts = {metric: f"{value:.0f}" if metric == TOKENS else f"{value:.3f}" for metric, value in values.items()}
        return "".join(f"{texts.get(metric, '–'):>11}" for metric in METRICS)

    yield (f"\n{cell('told with a prompt')}{'n':>6}{''.join(f'{title:>11}' for title in METRICS.values())}")
    for category, found in figures.items():
        yield f"{cell(category)}{found.prompts:>6}{row(found, 'mean')}"
    for title, bound in (("  from", "low"), ("  to", "high")):
        yield f"{cell(title)}{'':>6}{row(figures[OVERALL], bound)}"
    yield "notes, chars: the share told that belongs; any, all: wanted prompts with any and all of their notes told, in"
    yield "so many tokens; silent: of the prompts that want no memory; old: outdated notes told without a mark;"
    yield "text: the share told that is quoted from notes; the rest is ours; private: prompts told a private note."


if __name__ == "__main__":
    main()
