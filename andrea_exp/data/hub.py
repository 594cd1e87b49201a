"""A data set of Hugging Face, or local files in its formats, through the `datasets` library."""

import hashlib
import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, final

from typing_extensions import override

from andrea_exp.component import Range, Refusal, at_least, files
from andrea_exp.data.base import DataConfig
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.document import Document, Text
from andrea_exp.data.progress import Progress
from andrea_exp.data.tokenized import Part, Tokenized
from andrea_exp.tokenizer.base import TokenizerConfig

_ROWS = 1000
"""Rows that are read at once."""


@final
@dataclass(kw_only=True, frozen=True)
class HubConfig(DataConfig):
    """One column of text. Each row is a document; empty rows are passed over.

    The library downloads into its own cache folder. What was read is known by its content, so a
    data set that changes on the server is another one here; `revision` holds one fast.
    """

    path: str
    """Name of the data set, or the library's loader for `files`: `json`, `csv`, `parquet`,
    `text`."""
    subset: str | None
    """Its configuration, where it has several."""
    revision: str | None
    """Branch, tag or commit of its repository; None: the newest."""
    files: list[str] = field(metadata=files())
    """Local files for a loader; empty for a data set that has its own."""
    split: str
    """The training rows, in the library's own notation, such as `train` or `train[:10%]`."""
    validation_split: str | None
    """The validation rows; None: the last rows of `split` are."""
    validation_share: float = field(
        metadata={"range": Range(low=0, high=1, open_low=True, open_high=True)}
    )
    """Share of the rows, the last, that are validation where no split is named for it."""
    column: str
    """The column that holds the text."""
    sample_tokens: int = field(metadata=at_least(1))
    """Most training tokens that the unigram and bigram lines are fitted on; of more there are, by
    evenly spread stretches."""

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
            raise Refusal("data=hub is text and needs a tokenizer; choose one with tokenizer=")
        if not self.path:
            raise Refusal(
                "data=hub needs data.path: the name of a data set, or json, csv, parquet or text "
                "with data.files"
            )
        train, validation = self._rows()
        parts = [rows.part() for rows in (train, validation)]
        return Tokenized(train=parts[0], validation=parts[1], check=_unchanging).corpus(
            tokenizer=tokenizer, context=context, sample_tokens=self.sample_tokens
        )

    def _rows(self) -> tuple["Rows", "Rows"]:
        table = self._table(self.split)
        if self.validation_split is not None:
            other = self._table(self.validation_split)
            return (
                Rows(table, self.column, 0, len(table)),
                Rows(other, self.column, 0, len(other)),
            )
        cut = int(len(table) * (1 - self.validation_share))
        return Rows(table, self.column, 0, cut), Rows(table, self.column, cut, len(table))

    def _table(self, split: str) -> Any:
        try:
            datasets: Any = importlib.import_module("datasets")
        except ImportError as error:
            raise Refusal(
                "data=hub needs the library datasets; install it with pip install 'andrea_exp[hub]'"
            ) from error
        try:
            table: Any = datasets.load_dataset(
                self.path,
                self.subset,
                data_files=self.files or None,
                revision=self.revision,
                split=split,
            )
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise Refusal(f"data=hub: {self.path}, split {split}: {reason[0]}") from error
        if self.column not in table.column_names:
            raise Refusal(
                f"data.column={self.column}: {self.path} has no such column; it has "
                f"{', '.join(table.column_names)}"
            )
        return table


@final
@dataclass(frozen=True)
class Rows(Iterable[Text]):
    """The texts of the rows `start` to `stop`, read a thousand at a time."""

    table: Any
    column: str
    start: int
    stop: int

    @override
    def __iter__(self) -> Iterator[Document]:
        column = self.table.select_columns([self.column])
        for first in range(self.start, self.stop, _ROWS):
            texts = column[first : min(first + _ROWS, self.stop)][self.column]
            for number, text in enumerate(texts, start=first):
                self._check(text, number)
                if text:
                    yield Document(name=f"row {number}", text=text)

    def part(self) -> Part:
        """These rows with the hash of their text.

        Raises:
            Refusal: a row has no text, or a NUL.
        """
        digest, num_bytes = hashlib.sha256(), 0
        with Progress("reading", total=None) as progress:
            for document in self:
                content = document.text.encode()
                digest.update(len(content).to_bytes(8, "little") + content)
                num_bytes += len(content)
                progress.advance(len(content))
        return Part(documents=self, digest=digest.hexdigest(), num_bytes=num_bytes)

    def _check(self, text: object, number: int) -> None:
        if not isinstance(text, str):
            raise Refusal(
                f"data.column={self.column}: row {number} holds {type(text).__name__}, not text; "
                "choose another column"
            )
        if "\0" in text:
            raise Refusal(
                f"data.column={self.column}: row {number} has a NUL, so it is no text; "
                "choose another column"
            )


def _unchanging() -> None:
    """The library reads its own copy of the data."""
