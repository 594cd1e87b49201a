"""The results of one run as a logger shows them: tables and pictures."""

from functools import partial

from andrea_exp.logger.base import Disabled, Logger
from andrea_exp.record.reader import RunRecord, Survey
from andrea_exp.report.arms import policies
from andrea_exp.report.figure import png
from andrea_exp.report.sections.lengths import PROTOCOLS, paint_lengths
from andrea_exp.report.sections.smoothness import MEASURES, STATES, measured_arms, paint_cosines
from andrea_exp.report.table import LENGTHS, Table, table_of


def show(logger: Logger, record: RunRecord) -> None:
    """Hand over the table of lengths, the smoothness panel, and a picture of each."""
    if isinstance(logger, Disabled):  # drawing for nobody would take as long as a small run
        return
    table = table_of(Survey([record], []))
    columns = [name for name in LENGTHS if name not in {"run", "arm", "seed"}]
    logger.table("lengths", columns=columns, rows=table.lengths.select(columns).rows())
    for protocol in PROTOCOLS:
        paint = partial(paint_lengths, table=table, shown=policies(table), protocol=protocol)
        logger.image(f"loss_by_length_{protocol}", png(paint))
    _show_smoothness(logger, table)


def _show_smoothness(logger: Logger, table: Table) -> None:
    measured = measured_arms(table)
    if not measured:
        return
    found = table.runs[0].part("smoothness")
    panels = {state: table.runs[0].part(state, of=found) for state in STATES}
    panels |= table.runs[0].part("controls", of=found)
    keys = [measure.key for measure in MEASURES]
    rows = [[name, *(panel[key] for key in keys)] for name, panel in panels.items()]
    logger.table("smoothness", columns=["rows", *keys], rows=rows)
    for state in STATES:
        paint = partial(paint_cosines, measured=measured, state=state, centred=True)
        logger.image(f"centred_cosine_by_lag_{state}", png(paint))
