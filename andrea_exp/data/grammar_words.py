"""The words of the grammar, their ids and their classes."""

from typing import NamedTuple

FUNCTION_WORDS = (".", "the", "near", "on", "plays", "first", "second", "was", "were")
"""Words that the sentences themselves consist of, whatever the lexicon."""


class Lexicon(NamedTuple):
    """The words that the sentences speak of; words of one field are interchangeable."""

    singular: tuple[str, ...]
    """Pets, one of them."""
    plural: tuple[str, ...]
    """Pets, several of them: words of their own, in no way tied to their singular."""
    verbs_singular: tuple[str, ...]
    """What one pet does to another."""
    verbs_plural: tuple[str, ...]
    """The same of several."""
    instruments: tuple[str, ...]
    weekdays: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def pets(self) -> tuple[str, ...]:
        """Both numbers."""
        return self.singular + self.plural

    @property
    def words(self) -> tuple[str, ...]:
        """Every word, at the index that is its id."""
        return FUNCTION_WORDS + tuple(word for part in self for word in part)

    @property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """Words by what they are; no word is in two classes."""
        return {
            "function": FUNCTION_WORDS,
            "pets": self.pets,
            "verbs": self.verbs_singular + self.verbs_plural,
            "instruments": self.instruments,
            "weekdays": self.weekdays,
            "names": self.names,
        }

    def agreeing_verbs(self, pet: str) -> tuple[str, ...]:
        """The verbs of a pet's number."""
        return self.verbs_singular if pet in self.singular else self.verbs_plural

    def past(self, pet: str) -> str:
        """The form of "to be" of a pet's number."""
        return "was" if pet in self.singular else "were"


ENGLISH = Lexicon(
    singular=("cat", "dog", "pet", "rabbit", "hamster", "parrot"),
    plural=("cats", "dogs", "pets", "rabbits", "hamsters", "parrots"),
    verbs_singular=("chases", "sees", "likes", "follows"),
    verbs_plural=("chase", "see", "like", "follow"),
    instruments=("xylophone", "piano", "violin", "flute", "guitar"),
    weekdays=("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    names=("Alice", "Bob", "Carol", "Dave"),
)
"""The lexicon of `data=grammar`: 45 words with the function words."""
