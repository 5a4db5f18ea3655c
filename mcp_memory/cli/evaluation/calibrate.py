"""calibrate: how sure an answer is, fitted to the model that is configured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click

from mcp_memory.cli.console import emit, print_status, say
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.errors import InvalidInput

if TYPE_CHECKING:
    from mcp_memory.evaluation.metrics import RetrievalScore
    from mcp_memory.evaluation.sets import QuestionSet


@click.command()
@click.argument("folders", metavar="SET...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--state", type=click.Path(path_type=Path), help="Keep the indexes here, for the next run.")
@command_options
def calibrate(common: CommonOptions, folders: tuple[Path, ...], state: Path | None, as_json: bool) -> None:
    """Fit how sure answers are to your model, on sets of questions.

    Prints what belongs into your configuration file; nothing is changed. SET is what `eval` takes, with at
    least 20 questions that the vault answers and 20 that it does not; or prompts, of which memory is wanted for some.
    Another embedder is fitted by itself, to sets of ours; this is for what you ask of your own notes.

    \b
    mcp-memory calibrate tests/eval/developer tests/eval/developer/prompts.jsonl
    mcp-memory --config new.toml calibrate sets/docs
    """
    import anyio

    from mcp_memory.daemon.engine_client import engine_config
    from mcp_memory.evaluation.calibration import as_toml, check
    from mcp_memory.evaluation.calibration import calibrate as fitted
    from mcp_memory.evaluation.running import Variant, run, state_folder
    from mcp_memory.evaluation.sets import read_set
    from mcp_memory.search.confidence_config import ConfidenceConfig
    from mcp_memory.settings.tables import to_plain

    settings = common.settings()
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
    found = fitted(answers, settings.confidence, model)
    if as_json:
        emit(
            {"confidence": to_plain(found.config), "auroc": {"before": found.before, "after": found.after}}
            | {"silent_below": found.silent_below}
            | {"silenced": {name: {"answerable": yes, "others": no} for name, (yes, no) in found.silenced.items()}}
        )
        return
    for name, after in found.after.items():
        yes, no = found.silenced[name]
        print_status(
            f"{name}: tells what can be answered with AUROC {after:.3f} (so far {found.before[name]:.3f}); "
            f"called weak, or silenced, are {yes:.1%} of it, and {no:.1%} of what cannot"
        )
    bar = found.silent_below
    prompt = None if bar is None else replace(settings.recall.phases["prompt"], least_confidence=bar)
    for line in as_toml(found.config, list(answers), prompt).splitlines():
        say(line)
