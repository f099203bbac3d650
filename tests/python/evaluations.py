"""Evaluates one criterion at some of its cells, without the command."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fullpipe.base.progress import Counter
from fullpipe.study.evaluation.judge import Outcome, judge
from fullpipe.study.evaluation.measure import measured
from fullpipe.study.question import Contender
from fullpipe.study.sweeps.execute import Execution

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fullpipe.study.evaluation.suite import Criterion
    from fullpipe.study.spec import SweepSpec


def evaluation(
    criterion: Criterion,
    tested: str,
    baselines: Sequence[str],
    place: Path,
    seeds: int,
    axes: Mapping[str, Sequence[str]],
) -> Outcome:
    """Judges an algorithm or a queue by a criterion, with some values of its axes."""
    assert set(axes) <= set(criterion.axes)
    for axis, values in axes.items():
        assert set(values) <= set(criterion.axes[axis])
    criterion = replace(criterion, axes={**criterion.axes, **axes})

    def execute(spec: SweepSpec, directory: Path, trace: str) -> None:
        Execution(directory, Counter(silent=True), "a test", trace=trace).run(spec)

    subject = Contender(tested)
    others = [Contender(each) for each in baselines]
    found = measured(criterion, subject, others, range(1, seeds + 1), place, execute)
    return judge(criterion, subject, found)
