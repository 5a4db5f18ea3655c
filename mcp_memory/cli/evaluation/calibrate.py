"""The calibrate command: fits the confidence of answers to the configured model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click

from mcp_memory.cli.console import Remark, print_status
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.errors import InvalidInput

if TYPE_CHECKING:
    from mcp_memory.evaluation.metrics import RetrievalScore
    from mcp_memory.evaluation.sets import QuestionSet


@click.command()
@click.argument("folders", metavar="SET...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--state", type=click.Path(path_type=Path), help="Keep the indexes here, for the next run.")
@command_options
def calibrate(cli: CommandContext, folders: tuple[Path, ...], state: Path | None) -> None:
    """Fit the confidence of answers to your model, on sets of questions.

    Prints what belongs in your configuration file; nothing is changed. SET is what `eval` takes, with at least 20
    questions that the vault answers and 20 that it doesn't; or prompts, some of which need memory. Other embedders are
    fitted automatically, on our sets; this fits what you ask about your own notes.

    \b
    mcp-memory calibrate tests/eval/developer tests/eval/developer/prompts.jsonl
    mcp-memory --config new.toml calibrate sets/docs
    """
    import anyio

    from mcp_memory.daemon.engine_client import engine_config
    from mcp_memory.evaluation.calibration import as_toml, check
    from mcp_memory.evaluation.calibration import calibrate as fit
    from mcp_memory.evaluation.running import Variant, run, state_folder
    from mcp_memory.evaluation.sets import read_set
    from mcp_memory.search.confidence_config import ConfidenceConfig
    from mcp_memory.settings.tables import to_plain

    settings = cli.settings
    config = engine_config(settings)
    sets: dict[str, QuestionSet] = {}
    for questions in map(read_set, folders):
        check(questions.name, questions.questions)
        if questions.name in sets:
            raise InvalidInput(f"two sets are called {questions.name}", hint="rename the folder of one")
        sets[questions.name] = questions
    answers: dict[str, list[RetrievalScore]] = {}
    with state_folder(state) as place:
        for questions in sets.values():
            (answers[questions.name],) = anyio.run(
                run, questions, config, [Variant(search=config.search)], place, print_status
            )
    model = PurePath(settings.embedder.model).name or ConfidenceConfig().model
    found = fit(answers, settings.confidence, model)
    bar = found.silent_below
    prompt = None if bar is None else replace(settings.recall.phases["prompt"], least_confidence=bar)

    def lines() -> Iterator[str]:
        for name, after in found.after.items():
            yes, no = found.silenced[name]
            yield Remark(
                f"{name}: answerability AUROC {after:.3f} (before: {found.before[name]:.3f}); "
                f"called weak or silenced: {yes:.1%} of the answerable, {no:.1%} of the others"
            )
        yield from as_toml(found.config, list(answers), prompt).splitlines()

    payload = {
        "confidence": to_plain(found.config),
        "auroc": {"before": found.before, "after": found.after},
        "silent_below": bar,
        "silenced": {name: {"answerable": yes, "others": no} for name, (yes, no) in found.silenced.items()},
    }
    cli.show(payload, lines())
