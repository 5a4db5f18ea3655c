"""eval: how well search finds what is asked for, on a question set or on a person's own notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcp_memory.cli.console import emit, head, print_status, say
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from mcp_memory.engine.config import EngineConfig
    from mcp_memory.evaluation.metrics import Interval
    from mcp_memory.evaluation.report import EvaluationReport
    from mcp_memory.evaluation.sets import QuestionSet
    from mcp_memory.settings.settings import Settings

OWN_QUESTIONS = 200
"""Of each kind: enough that a difference of 3 points shows."""

CAVEAT = (
    "Made from your notes' own words: shows whether they come back, and whether a change of model, chunking or\n"
    "configuration loses them. It cannot show how questions in quite other words fare."
)


@click.command("eval")
@click.argument("folder", metavar="SET", required=False, type=click.Path(path_type=Path))
@click.option("--own", is_flag=True, help="Ask about your own vault instead of a set, with questions made from it.")
@click.option("--budget", "budgets", type=int, multiple=True, help="Tokens that may be read; default 500, 1000, 2000.")
@click.option("--ablate", "ablated", multiple=True, metavar="PART", help="Also without this part of the search.")
@click.option("--recall", "recalls", is_flag=True, help="Also what memory_recall tells, its whole text counted.")
@click.option(
    "--run", "run_file", type=click.Path(dir_okay=False, path_type=Path), help="Write what came back to this file."
)
@click.option("--state", type=click.Path(path_type=Path), help="Keep the index here, for the next run.")
@command_options
def evaluate(
    common: CommonOptions,
    folder: Path | None,
    own: bool,
    budgets: tuple[int, ...],
    ablated: tuple[str, ...],
    recalls: bool,
    run_file: Path | None,
    state: Path | None,
    as_json: bool,
) -> None:
    """Measure how much of the evidence comes back within a token budget.

    SET is a folder with queries.jsonl (one question a line: {"id", "question", "gold": [{"path", "line"}]}) and
    vault/, or a file beside a vault/ with questions or prompts ({"id", "prompt", "wanted", "gold": [path]}). The vault
    is copied, and indexed with your configuration in a folder of its own; your own and its daemon are left alone.
    Figures come with the interval in which they lie with 95 %. PART is words, dense, names, spelling, lexical,
    ceiling, section, neighbour, unlisted, or a boost: lead, date, time, question.

    \b
    mcp-memory eval sets/docs                          the table
    mcp-memory eval sets/docs --ablate dense           and what vectors add
    mcp-memory eval sets/docs --recall                 and what of it memory_recall tells
    mcp-memory eval sets/docs/prompts.jsonl            when to be silent
    mcp-memory eval --own                              on your own notes
    mcp-memory --config new.toml eval --own --json     with another configuration
    """
    import anyio

    from mcp_memory.evaluation.metrics import BUDGETS
    from mcp_memory.evaluation.own import own_questions
    from mcp_memory.evaluation.report import as_json as as_facts
    from mcp_memory.evaluation.report import as_rows, difference, recall_report, report
    from mcp_memory.evaluation.running import Variant, recall, run, state_folder, without
    from mcp_memory.evaluation.sets import read_set
    from mcp_memory.runtime.os_errors import naming_the_cause

    if own == (folder is not None):
        raise InvalidInput("pass either a SET or --own", hint="mcp-memory eval --help")
    if any(not 50 <= budget <= 1_000_000 for budget in budgets):
        raise InvalidInput("a budget is 50 to 1000000 tokens")
    if run_file and not run_file.parent.is_dir():
        raise NotFound(f"there is no folder {run_file.parent}", hint=f"make it, or write {run_file.name} elsewhere")
    settings = common.settings()
    config = _config(settings)
    variants = [Variant(search=config.search), *(without(part, config.search) for part in dict.fromkeys(ablated))]
    questions = read_set(folder) if folder else own_questions(_own(config), OWN_QUESTIONS)
    if not questions.questions:
        raise NotFound("there is nothing to ask about", hint="no note holds a sentence of a few words")
    lengths, chosen = questions.lengths(), sorted(set(budgets)) or BUDGETS
    with state_folder(state) as place:
        answers = anyio.run(run, questions, config, variants, place, print_status)
        told = anyio.run(recall, questions, config, chosen, place, print_status) if recalls else []
    bar = settings.confidence.weak_below
    if any(question.is_prompt for question in questions.questions):
        bar = settings.recall.phases["prompt"].least_confidence
    whole, *others = (report(given, lengths, chosen, bar) for given in answers)
    recalled = recall_report(told, lengths) if told else None
    if run_file:
        with naming_the_cause(str(run_file)):
            run_file.write_text("".join(f"{row}\n" for row in as_rows(answers[0])), encoding="utf-8")
    if as_json:
        emit(
            {"set": questions.name, "questions": len(questions.questions), **as_facts(whole)}
            | {"without": {variant.name: as_facts(each) for variant, each in zip(variants[1:], others, strict=True)}}
            | ({"recall": as_facts(recalled)} if recalled else {})
            | {"baselines": questions.baselines}
        )
        return
    name = _Names([questions.name, *whole.categories(), *whole.confidences, *questions.baselines])
    _show(questions, whole, [f"evidence@{budget}tok" for budget in chosen], name)
    for variant, each in zip(variants[1:], others, strict=True):
        gains = [difference(whole, each, metric) for metric in _columns(whole, chosen)]
        say(f"{name(f'by {variant.name}')}{_compared(gains)}")
    if recalled:
        figures = [recalled.figure(metric).mean for metric in recalled.metrics]
        say(f"{name('memory_recall')}{len(told):>6}{''.join(f'{figure:>11.3f}' for figure in figures)}")
        gains = [difference(recalled, whole, metric) for metric in recalled.metrics]
        say(f"{name('  beside the hits')}{_compared(gains)}")
    if others or recalled:
        say("\nby PART: what it adds; * where a difference is more than chance (95 %, paired bootstrap).")
    if recalled:
        say("memory_recall: of its budget it also pays for its own words, paths and headings.")
    if own:
        say(f"\n{CAVEAT}")


class _Names:
    """The table's first column: as wide as the longest name, within bounds. Called with a name: its cell."""

    LEAST, MOST = 25, 60

    def __init__(self, names: Sequence[str]) -> None:
        self.width = min(max(self.LEAST, *map(len, names)), self.MOST)

    def __call__(self, name: str) -> str:
        short = name if len(name) <= self.width else f"{name[: self.width - 1]}…"
        return f"{short:<{self.width}} "


def _compared(gains: Sequence[Interval]) -> str:
    cells = "".join(f"{gain.mean:+9.3f}{' *' if gain.excludes_zero else '  '}" for gain in gains)
    return f"{'':>6}{cells}"


def _columns(whole: EvaluationReport, budgets: Sequence[int]) -> list[str]:
    wanted = [f"evidence@{budget}tok" for budget in budgets]
    return [*wanted, *(metric for metric in ("mrr@10", "note_recall@5") if metric in whole.metrics)]


def _show(questions: QuestionSet, whole: EvaluationReport, evidence: Sequence[str], name: _Names) -> None:
    columns = [*evidence, "mrr@10", "note_recall@5"]
    titles = [metric.replace("evidence@", "ev@").replace("note_recall", "note") for metric in columns]
    head(f"{name(questions.name)}{'n':>6}{''.join(f'{title:>11}' for title in titles)}")
    for category in whole.categories() if whole.scores else []:
        figures = [whole.figure(metric, category).mean for metric in columns]
        count = len(whole.values(columns[0], category))
        say(f"{name(category)}{count:>6}{''.join(f'{figure:>11.3f}' for figure in figures)}")
    if whole.scores:
        spread = [whole.figure(metric) for metric in columns]
        say(f"{name('  from')}{'':>6}{''.join(f'{each.low:>11.3f}' for each in spread)}")
        say(f"{name('  to')}{'':>6}{''.join(f'{each.high:>11.3f}' for each in spread)}")
    for other, known in questions.baselines.items():
        cells = "".join(f"{known[m]:>11.3f}" if known.get(m) is not None else f"{'–':>11}" for m in columns)
        say(f"{name(other)}{'':>6}{cells}")
    for kind, value in whole.aurocs.items():
        say(f"tells answerable from {kind}: AUROC {value:.3f}")
    if whole.aurocs:
        bars = "".join(f"{each:>11.2f}" for each in whole.thresholds)
        say(f"\n{'silent below a confidence of':<{name.width + 7}}{bars}")
        for kind, confidences in whole.confidences.items():
            shares = "".join(f"{whole.silenced(kind, each):>11.3f}" for each in whole.thresholds)
            say(f"{name(kind)}{len(confidences):>6}{shares}")
    if whole.latency_ms:
        say(f"a search takes {whole.latency_ms['p50']:.1f} ms, 95 of 100 at most {whole.latency_ms['p95']:.1f} ms")


def _own(config: EngineConfig) -> EngineConfig:
    if not config.root.is_dir():
        raise NotFound(f"there is no vault at {config.root}", hint="check the path: mcp-memory config show")
    return config


def _config(settings: Settings) -> EngineConfig:
    from mcp_memory.daemon.engine_client import engine_config

    return engine_config(settings)
