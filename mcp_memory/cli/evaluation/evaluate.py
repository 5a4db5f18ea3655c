"""The eval command: measures how well search finds what is asked, on a question set or on your own notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcp_memory.cli.console import Heading, print_status
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from mcp_memory.engine.config import EngineConfig
    from mcp_memory.evaluation.context import ContextFigures
    from mcp_memory.evaluation.metrics import Interval
    from mcp_memory.evaluation.report import EvaluationReport
    from mcp_memory.evaluation.sets import QuestionSet

OWN_QUESTIONS = 200
"""Of each kind: enough to show a difference of 3 points."""

CAVEAT = (
    "Made from your notes' own words: shows whether they come back, and whether a change of model, chunking or\n"
    "configuration loses them. It cannot show how questions in quite other words fare."
)

NAME_WIDTHS = (25, 60)
"""The least and the greatest width of a table's first column."""


@click.command("eval")
@click.argument("folder", metavar="SET", required=False, type=click.Path(path_type=Path))
@click.option("--own", is_flag=True, help="Ask about your own vault instead of a set, with questions made from it.")
@click.option("--budget", "budgets", type=int, multiple=True, help="Tokens to read; default 500, 1000, 2000.")
@click.option("--ablate", "ablated", multiple=True, metavar="PART", help="Also without this part of the search.")
@click.option("--recall", "with_recall", is_flag=True, help="Also what memory_recall returns, its whole text counted.")
@click.option(
    "--distractors", type=click.Path(path_type=Path), metavar="FOLDER", help="Search these notes too; none answers."
)
@click.option(
    "--run", "run_file", type=click.Path(dir_okay=False, path_type=Path), help="Write what came back to this file."
)
@click.option("--state", type=click.Path(path_type=Path), help="Keep the index here, for the next run.")
@command_options
def evaluate(
    cli: CommandContext,
    folder: Path | None,
    own: bool,
    budgets: tuple[int, ...],
    ablated: tuple[str, ...],
    with_recall: bool,
    distractors: Path | None,
    run_file: Path | None,
    state: Path | None,
) -> None:
    """Measure how much of the evidence comes back within a token budget.

    SET is a folder with queries.jsonl (one question a line: {"id", "question", "gold": [{"path", "line"}]}) and
    vault/, or a file beside a vault/ with questions or prompts ({"id", "prompt", "wanted", "gold": [path], "also"?,
    "outdated"?, "private"?, "project"?}); for prompts, what an agent is told with each is measured too. The vault is
    copied, and indexed with your configuration in a folder of its own; your vault and its daemon are left alone.
    Figures come with their 95 % confidence interval. PART is words, dense, names, spelling, lexical, ceiling, section,
    neighbour, unlisted, or a boost: lead, date, time, question, foreign.

    \b
    mcp-memory eval sets/docs                          the table
    mcp-memory eval sets/docs --ablate dense           and what vectors add
    mcp-memory eval sets/docs --recall                 and what of it memory_recall returns
    mcp-memory eval sets/docs/prompts.jsonl            when to be silent, and what belongs of what is told
    mcp-memory eval --own                              on your own notes
    mcp-memory --config new.toml eval --own --json     with another configuration
    """
    import anyio

    from mcp_memory.daemon.engine_client import engine_config
    from mcp_memory.evaluation.context import context_figures, context_json
    from mcp_memory.evaluation.metrics import BUDGETS
    from mcp_memory.evaluation.report import as_json as as_facts
    from mcp_memory.evaluation.report import as_rows, difference, recall_report, report
    from mcp_memory.evaluation.running import Variant, brief, recall, run, state_folder, without
    from mcp_memory.evaluation.sets import read_set
    from mcp_memory.runtime.os_errors import naming_the_cause

    _check(folder, budgets, run_file, own=own)
    settings = cli.settings
    config = engine_config(settings)
    variants = [Variant(search=config.search), *(without(part, config.search) for part in dict.fromkeys(ablated))]
    questions = read_set(folder) if folder else _own_questions(config)
    questions = questions.among(distractors) if distractors else questions
    lengths, chosen = questions.lengths(), sorted(set(budgets)) or BUDGETS
    with state_folder(state) as place:
        answers = anyio.run(run, questions, config, variants, place, print_status)
        recalls = anyio.run(recall, questions, config, chosen, place, print_status) if with_recall else []
        has_prompts = any(question.is_prompt for question in questions.questions)
        told = anyio.run(brief, questions, config, place, print_status) if has_prompts else []
    bar = settings.recall.phases["prompt"].least_confidence if has_prompts else settings.confidence.weak_below
    whole, *others = (report(scores, lengths, chosen, bar) for scores in answers)
    ablations = {variant.name: other for variant, other in zip(variants[1:], others, strict=True)}
    recalled = recall_report(recalls, lengths) if recalls else None
    context = context_figures(told) if told else None
    if run_file:
        with naming_the_cause(str(run_file)):
            run_file.write_text("".join(f"{row}\n" for row in as_rows(answers[0])), encoding="utf-8")

    def lines() -> Iterator[str]:
        cell = _name_cell([questions.name, *whole.categories(), *whole.confidences, *questions.baselines])
        evidence = [f"evidence@{budget}tok" for budget in chosen]
        yield from _table(questions, whole, evidence, cell)
        metrics = [*evidence, *(metric for metric in ("mrr@10", "note_recall@5") if metric in whole.metrics)]
        for name, other in ablations.items():
            yield cell(f"by {name}") + _gains(difference(whole, other, metric) for metric in metrics)
        if recalled:
            yield from _recall_rows(recalled, whole, cell)
        if others or recalled:
            yield "\nby PART: what it adds; * marks a difference beyond chance (95 %, paired bootstrap)."
        if recalled:
            yield "memory_recall: its budget also pays for its own words, paths and headings."
        if own:
            yield f"\n{CAVEAT}"
        if context:
            yield from _context_table(context, cell)

    payload = {
        "set": questions.name,
        "questions": len(questions.questions),
        **as_facts(whole),
        "without": {name: as_facts(other) for name, other in ablations.items()},
        **({"recall": as_facts(recalled)} if recalled else {}),
        **({"context": context_json(context)} if context else {}),
        "baselines": questions.baselines,
    }
    cli.show(payload, lines())


def _check(folder: Path | None, budgets: tuple[int, ...], run_file: Path | None, *, own: bool) -> None:
    if own == (folder is not None):
        raise InvalidInput("pass either a SET or --own", hint="mcp-memory eval --help")
    if any(not 50 <= budget <= 1_000_000 for budget in budgets):
        raise InvalidInput("a budget is 50 to 1000000 tokens")
    if run_file and not run_file.parent.is_dir():
        raise NotFound(f"there is no folder {run_file.parent}", hint=f"make it, or write {run_file.name} elsewhere")


def _own_questions(config: EngineConfig) -> QuestionSet:
    from mcp_memory.evaluation.own import own_questions

    if not config.root.is_dir():
        raise NotFound(f"there is no vault at {config.root}", hint="check the path: mcp-memory config show")
    questions = own_questions(config, OWN_QUESTIONS)
    if not questions.questions:
        raise NotFound("there is nothing to ask about", hint="no note holds a sentence of a few words")
    return questions


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
    yield Heading(f"{cell(questions.name)}{'n':>6}{''.join(f'{title:>11}' for title in titles)}")
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
    if whole.curve:
        start = " " * 6
        yield f"\n{cell('stop at share of the best')}{start}{''.join(f'{share:>11.1f}' for share in whole.curve)}"
        yield f"{cell('  mean tokens')}{start}{''.join(f'{tokens:>11.0f}' for tokens, _ in whole.curve.values())}"
        yield f"{cell('  evidence')}{start}{''.join(f'{evidence:>11.3f}' for _, evidence in whole.curve.values())}"
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
    from mcp_memory.evaluation.report import difference

    evidence = "".join(f"{recalled.figure(metric).mean:>11.3f}" for metric in recalled.metrics)
    yield f"{cell('memory_recall')}{len(recalled.scores):>6}{evidence}"
    yield cell("  compared with the hits") + _gains(difference(recalled, whole, metric) for metric in recalled.metrics)
    yield f"{cell('  mean tokens returned')}{'':>6}{''.join(f'{mean:>11.0f}' for mean in recalled.tokens.values())}"


def _context_table(figures: Mapping[str, ContextFigures], cell: Callable[[str], str]) -> Iterator[str]:
    from mcp_memory.evaluation.context import METRICS, TOKENS
    from mcp_memory.evaluation.report import OVERALL

    def row(found: ContextFigures, bound: str) -> str:
        values = {metric: getattr(interval, bound) for metric, interval in found.metrics.items()}
        texts = {metric: f"{value:.0f}" if metric == TOKENS else f"{value:.3f}" for metric, value in values.items()}
        return "".join(f"{texts.get(metric, '–'):>11}" for metric in METRICS)

    yield Heading(f"\n{cell('told with a prompt')}{'n':>6}{''.join(f'{title:>11}' for title in METRICS.values())}")
    for category, found in figures.items():
        yield f"{cell(category)}{found.prompts:>6}{row(found, 'mean')}"
    for title, bound in (("  from", "low"), ("  to", "high")):
        yield f"{cell(title)}{'':>6}{row(figures[OVERALL], bound)}"
    yield "notes, chars: the share told that belongs; any, all: wanted prompts with any and all of their notes told, in"
    yield "so many tokens; silent: of the prompts that want no memory; old: outdated notes told without a mark;"
    yield "text: the share told that is quoted from notes; the rest is ours; private: prompts told a private note."
