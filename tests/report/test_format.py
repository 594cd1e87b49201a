import math

import pytest

from andrea_exp.report.format import (
    MISSING,
    count,
    fixed,
    listing,
    multiple,
    numbering,
    probability,
    share,
    short,
    signed,
)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (fixed(1.23456), "1.235"),
        (fixed(-0.5, digits=1), "\N{MINUS SIGN}0.5"),
        (fixed(None), MISSING),
        (fixed(math.nan), "not finite"),
        (signed(0.25), "+0.250"),
        (signed(None), MISSING),
        (count(98_698_752), "98,698,752"),
        (short(1_740_000), "1.74M"),
        (short(17), "17"),
        (share(0.018834), "1.88%"),
        (share(0.904), "90.4%"),
        (share(None), MISSING),
        (multiple(1), "T"),
        (multiple(0.5), "0.5T"),
        (listing(["a", "b", "c"]), "a, b and c"),
        (listing(["a"]), "a"),
        (numbering(range(100)), "0 to 99"),
        (numbering([7, 1, 0, 5, 6]), "0, 1 and 5 to 7"),
        (numbering([100, 8, 8]), "8 and 100"),
        (numbering([3]), "3"),
        (probability(0.03125), "0.0312"),
        (probability(0.0001), "0.0001"),
        (probability(3e-7), "< 0.0001"),
        (probability(None), MISSING),
    ],
)
def test_numbers_are_written_as_people_read_them(written: str, expected: str) -> None:
    assert written == expected
