"""What a plan, or a study's runs, say of how far lambda can travel beside the published study."""

import polars as pl

from saddle.config import PUBLISHED_UPDATES
from saddle.errors import SaddleError
from saddle.learners import learner_from
from saddle.multipliers import Rule, rules
from saddle.study.params import learner_fields, rule_fields
from saddle.study.plan import Plan
from saddle.words import counted

SAME = 0.01  # share by which a length of training, or a rate, may differ and still be the same


def plan_notes(plan: Plan) -> list[str]:
    """A sentence for each length of training that is not the published one, where rules have
    rates.
    """
    notes: dict[str, None] = {}
    for stage in plan.stages:
        moving = [rule for rule in stage.moving if rule.rates]
        if not moving:
            continue
        for learner in plan.learners_of(stage):
            pace = plan.pace_of(learner)
            if abs(pace - 1) > SAME:
                notes[_sentence(moving, pace, plan.scale_rates)] = None
    return list(notes)


def _sentence(moving: list[Rule], pace: float, scaled: bool) -> str:
    names = dict.fromkeys(f"{rate} of {rule.name}" for rule in moving for rate in rule.rates)
    which = ", ".join(names)
    updates = counted(round(PUBLISHED_UPDATES / pace), "update", "updates")
    if scaled:
        return f"{updates} of lambda instead of {PUBLISHED_UPDATES}: {which} times {pace:.3g}"
    return (
        f"{updates} of lambda instead of {PUBLISHED_UPDATES}, and {which} as they are: lambda may "
        f"not arrive; scale_rates = true in the study's file multiplies them by {pace:.3g}"
    )


def run_notes(runs: pl.DataFrame) -> list[str]:
    """A sentence for each rule whose runs had fewer or more updates of lambda than the published
    ones, at the published rates. Rules that are not known here are left out.
    """
    if "params" not in runs.columns:
        return []
    notes: dict[str, None] = {}
    for params, steps in runs.select("params", "steps").unique(maintain_order=True).iter_rows():
        fields = rule_fields(params)
        kind = rules().get(fields.get("rule", ""))
        updates = _updates(params, steps)
        if kind is None or not kind.rates or not updates:
            continue
        usual = kind()
        as_published = all(fields.get(name) == getattr(usual, name) for name in kind.rates)
        if as_published and abs(updates / PUBLISHED_UPDATES - 1) > SAME:
            names = " and ".join(kind.rates)
            notes[
                f"{kind.label} moved lambda {updates} times instead of {PUBLISHED_UPDATES} with "
                f"the published {names}: it may not have arrived (scale_rates in a study's file)."
            ] = None
    return list(notes)


def _updates(params: str, steps: int | None) -> int | None:
    """Updates of lambda that a run had; None of a run that Saddle did not train, or whose learner
    is not known here.
    """
    settings = learner_fields(params)
    if not steps or "steps_per_epoch" not in settings:
        return None
    try:
        return learner_from(settings).updates_of_lambda(steps)
    except SaddleError:
        return None
