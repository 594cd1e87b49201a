"""Put the verdicts of every experiment into the README: `python experiments/readme.py`.

Between `<!-- verdicts: NAME -->` and `<!-- end -->` stands what experiments/NAME/verdicts.md says.
"""

import re
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PLACE = re.compile(r"(<!-- verdicts: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """The README's text with the verdicts as they are kept here."""

    def verdicts(place: re.Match[str]) -> str:
        kept = (HERE / place[2] / "verdicts.md").read_text(encoding="utf-8")
        return f"{place[1]}\n{kept}\n{place[3]}"

    return PLACE.sub(verdicts, text)


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
