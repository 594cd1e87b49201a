import re

from matplotlib.axes import Axes

from andrea_exp.report.figure import Curve, arm_lines, mean_curve, panel, standalone
from andrea_exp.report.palette import INKS, styles

STYLE = styles(hues=["a"], dashes=["x"])["a", "x"]


def draw(key: str = "k") -> str:
    return panel(
        lambda axes: arm_lines(
            axes, [Curve([1, 2], [3, 5]), Curve([1, 2], [4, 9])], style=STYLE, every_point=True
        ),
        key=key,
        title="A <title>",
        description="what it shows",
    )


def test_colours_are_the_pages_own() -> None:
    text = draw()
    assert "var(--series-0)" in text
    assert not [ink for ink in INKS if ink.light in text]


def test_every_id_begins_with_the_key() -> None:
    assert all(found.startswith("fig-") for found in re.findall(r'id="([^"]*)"', draw("fig")))
    assert all(found.startswith("fig-") for found in re.findall(r"#([\w-]+)\)", draw("fig")))


def test_the_figure_says_in_words_what_it_shows() -> None:
    text = draw()
    assert "A &lt;title&gt;" in text
    assert 'aria-describedby="k-text"' in text
    assert "what it shows" in text


def drawn_lines(svg: str) -> list[tuple[str, list[str]]]:
    """The lines in the first colour: width of the stroke, and the pieces of the path."""
    found = re.findall(
        r'<path d="([^"]*)"[^>]*stroke: var\(--series-0\); [^>]*stroke-width: ([\d.]+)', svg
    )
    return [(width, re.findall("M[^M]*", path)) for path, width in found]


def test_several_seeds_are_one_thin_path_with_gaps_and_a_thick_mean() -> None:
    (thin, seeds), (thick, mean) = drawn_lines(draw())
    assert (thin, len(seeds)) == ("0.6", 2)
    assert (thick, len(mean)) == ("1.7", 1)
    ends = [re.findall(r"(-?[\d.]+) (-?[\d.]+)", piece)[1] for piece in [*seeds, *mean]]
    (x, low), (same, high), (also, middle) = [(float(x), float(y)) for x, y in ends]
    assert x == same == also
    assert abs((low + high) / 2 - middle) < 0.02


def test_paths_have_hundredths_of_a_point_and_texts_keep_their_digits() -> None:
    def paint(axes: Axes) -> None:
        axes.set_xticks([0.123456], ["0.123456"])

    svg = panel(paint, key="k", title="t", description="d")
    assert "0.123456" in svg
    assert re.findall(r' d="([^"]*)"', svg)
    assert not re.findall(r' d="[^"]*\.\d{3}[^"]*"', svg)


def test_the_mean_is_taken_where_all_curves_have_a_point() -> None:
    assert mean_curve([Curve([1, 2, 3], [1, 2, 3]), Curve([2, 3], [4, 9])]) == ([2, 3], [3, 6])
    assert mean_curve([]) == ([], [])


def name_the_axis(axes: Axes) -> None:
    axes.set_xlabel("tokens")


def test_a_picture_stands_by_itself() -> None:
    text = standalone(name_the_axis, width=3, height=2, title="T", description="D")
    assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "prefers-color-scheme: dark" in text
    assert "<text" not in text  # letters are outlines: no font is needed
