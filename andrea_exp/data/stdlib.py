"""Python's standard library as text: source code that every machine with Python has."""

import hashlib
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from typing_extensions import override

from andrea_exp.component import Range, Refusal
from andrea_exp.data.base import DataConfig
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.document import Document
from andrea_exp.data.modules import STDLIB_FILES
from andrea_exp.tokenizer.base import TokenizerConfig


@final
@dataclass(kw_only=True, frozen=True)
class StdlibConfig(DataConfig):
    """A fixed list of modules, each whole in training or whole in validation.

    Their text differs between Python versions; the fingerprint says which one a run has read.
    """

    validation_share: float = field(
        metadata={"range": Range(low=0, high=1, open_low=True, open_high=True)}
    )
    """Chance of a file to be validation. The file's name decides, so it is on the same side in
    every Python version, and the share of the text only comes near it."""

    @classmethod
    @override
    def has_own_ids(cls) -> bool:
        return False

    @override
    def known_size(self) -> None:
        return None

    @override
    def load(self, *, tokenizer: TokenizerConfig | None, context: int) -> Corpus:
        if tokenizer is None:
            raise Refusal("data=stdlib is text and needs a tokenizer; choose one with tokenizer=")
        documents = read_sources(Path(sysconfig.get_path("stdlib")))
        return Corpus.build(
            train=[each for each in documents if not self.is_validation(each.name)],
            validation=[each for each in documents if self.is_validation(each.name)],
            tokenizer=tokenizer,
            context=context,
        )

    def is_validation(self, name: str) -> bool:
        """Whether the file of that relative name is validation text."""
        digest = hashlib.sha256(name.encode()).digest()
        return int.from_bytes(digest[:8], "big") < self.validation_share * 2**64


def read_sources(folder: Path) -> list[Document]:
    """The listed files below a standard library's folder, line ends as they are, sorted by name.

    Raises:
        Refusal: a file is missing.
    """
    missing = [name for name in STDLIB_FILES if not (folder / name).is_file()]
    if missing:
        raise Refusal(
            f"the Python here lacks {len(missing)} of the {len(STDLIB_FILES)} source files that "
            f"data=stdlib reads, the first being {folder / missing[0]}; use another data= option, "
            "such as data=noise, or a Python with its standard library's .py files"
        )
    # All of them are UTF-8, and `read_text` would turn the line ends.
    return [
        Document(name=name, text=(folder / name).read_bytes().decode("utf-8"))
        for name in STDLIB_FILES
    ]
