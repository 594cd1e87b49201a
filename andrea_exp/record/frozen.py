"""`config.yaml`: the checked configuration of a run as plain values, and what identifies it."""

from dataclasses import dataclass
from typing import Any, Self, final

import yaml

from andrea_exp.component import Refusal
from andrea_exp.record.layout import misfits

SCHEMA = 1
"""Version of the layout of `config.yaml`."""

# The parser in C is about ten times as fast, and a report reads many files.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@final
@dataclass(kw_only=True, frozen=True)
class FrozenConfig:
    """The configuration that a run directory was frozen with."""

    recipe_hash: str
    """Hash of everything that decides the result."""
    choices: dict[str, str]
    """Group -> option, under the names of the files in `conf/`."""
    config: dict[str, Any]
    """Every resolved value, nested by group."""
    claims_hash: str | None = None
    """Hash of the experiment's claims and their seeds as they were then; None without any."""

    def text(self) -> str:
        """The file's content."""
        content = {
            "schema": SCHEMA,
            "recipe_hash": self.recipe_hash,
            "claims_hash": self.claims_hash,
            "choices": self.choices,
            "config": self.config,
        }
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)

    @classmethod
    def parse(cls, text: str, *, source: str) -> Self:
        """The configuration that a file holds.

        Args:
            text: its content.
            source: its name, for messages.

        Raises:
            Refusal: it has another layout or another schema.
        """
        try:
            content = yaml.load(text, Loader=_Loader)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise Refusal(f"{source} is not YAML: {' '.join(str(error).split())}") from error
        schema = content.get("schema") if isinstance(content, dict) else None
        if schema != SCHEMA:
            raise Refusal(
                f"{source} has schema {schema}, this version of andrea_exp reads {SCHEMA}; "
                "read it with the version that wrote it"
            )
        try:
            frozen = cls(
                recipe_hash=content["recipe_hash"],
                choices=content["choices"],
                config=content["config"],
                claims_hash=content.get("claims_hash"),
            )
        except KeyError as error:
            raise Refusal(f"{source} lacks {error}") from error
        if wrong := misfits(frozen):
            raise Refusal(f"{source}: {', '.join(wrong)} do not have their layout")
        return frozen
