"""The sentences of the grammar, as labelled steps between states that know the whole past.

Three kinds, each drawn independently of what went before:

- a statement, `the N1 [near the X] V the N2 [on DAY] .`: N1 any pet, X a pet or an instrument, V a
  verb that agrees with N1, whatever stands between, N2 any other pet;
- music, `NAME plays the INSTRUMENT [on DAY] .`;
- a reference, `the first|second was|were the N .`: N is the N1 or the N2 of the last statement,
  however long ago that was, and was|were agrees with it.

A state holds what the future depends on: the place in the sentence, and N1 and N2 of the last
statement, or N1 alone between the subject of a statement and its object.
"""

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

from andrea_exp.data.chain import State, Step
from andrea_exp.data.grammar_words import Lexicon

FUNCTION = "function word"
"""The slot of words that are not chosen for their meaning."""


class Shares(NamedTuple):
    """How often the sentences take which form."""

    statements: float
    """Of sentences; references have what statements and music leave."""
    music: float
    near: float
    """Of statements: those with `near the X`."""
    dated: float
    """Of statements and music: those with `on DAY`."""


def steps(lexicon: Lexicon, shares: Shares) -> Iterator[Step]:
    """Every step of the language; all probabilities are positive if all shares are inside 0..1."""
    for pet in lexicon.pets:
        yield from _statement(pet, lexicon, shares)
    for pair in permutations(lexicon.pets, 2):
        yield from _opening(pair, lexicon, shares)
        yield from _music(pair, lexicon)
        yield from _closing(pair, lexicon, shares)
        for index, ordinal in enumerate(("first", "second")):
            yield from _reference(pair, lexicon, index=index, ordinal=ordinal)


def _opening(pair: State, lexicon: Lexicon, shares: Shares) -> Iterator[Step]:
    """The first word or two, which decide the kind of the sentence."""
    stop, opened = ("stop", *pair), ("opened", *pair)
    yield Step(stop, "the", FUNCTION, opened, 1 - shares.music)
    for name in lexicon.names:
        share = shares.music / len(lexicon.names)
        yield Step(stop, name, "name", ("name", *pair), share)
    statements = shares.statements / (1 - shares.music)
    for pet in lexicon.pets:
        share = statements / len(lexicon.pets)
        yield Step(opened, pet, "subject", ("subject", pet), share)
    for ordinal in ("first", "second"):
        share = (1 - statements) / 2
        yield Step(opened, ordinal, "ordinal", (ordinal, *pair), share)


def _statement(pet: str, lexicon: Lexicon, shares: Shares) -> Iterator[Step]:
    """From the subject to the object; a verb behind another noun is a slot of its own."""
    subject, near, the = ("subject", pet), ("near", pet), ("near the", pet)
    neighbour, verb, what = ("neighbour", pet), ("verb", pet), ("verb the", pet)
    agreeing = lexicon.agreeing_verbs(pet)
    yield Step(subject, "near", FUNCTION, near, shares.near)
    for word in agreeing:
        yield Step(subject, word, "agreement", verb, (1 - shares.near) / len(agreeing))
        yield Step(neighbour, word, "agreement past a noun", verb, 1 / len(agreeing))
    yield Step(near, "the", FUNCTION, the, 1)
    for words in (lexicon.pets, lexicon.instruments):
        for word in words:
            yield Step(the, word, "neighbour", neighbour, 0.5 / len(words))
    yield Step(verb, "the", FUNCTION, what, 1)
    others = [other for other in lexicon.pets if other != pet]
    for other in others:
        yield Step(what, other, "object", ("said", pet, other), 1 / len(others))


def _music(pair: State, lexicon: Lexicon) -> Iterator[Step]:
    yield Step(("name", *pair), "plays", FUNCTION, ("plays", *pair), 1)
    yield Step(("plays", *pair), "the", FUNCTION, ("plays the", *pair), 1)
    for word in lexicon.instruments:
        share = 1 / len(lexicon.instruments)
        yield Step(("plays the", *pair), word, "instrument", ("said", *pair), share)


def _closing(pair: State, lexicon: Lexicon, shares: Shares) -> Iterator[Step]:
    """What follows the last noun."""
    said, on, closing = ("said", *pair), ("on", *pair), ("closing", *pair)
    stop = ("stop", *pair)
    yield Step(said, "on", FUNCTION, on, shares.dated)
    yield Step(said, ".", FUNCTION, stop, 1 - shares.dated)
    for word in lexicon.weekdays:
        yield Step(on, word, "day", closing, 1 / len(lexicon.weekdays))
    yield Step(closing, ".", FUNCTION, stop, 1)


def _reference(pair: State, lexicon: Lexicon, *, index: int, ordinal: str) -> Iterator[Step]:
    """From behind `first` or `second` to the pet that it means."""
    meant = pair[index]
    was, the = (f"{ordinal} was", *pair), (f"{ordinal} was the", *pair)
    yield Step((ordinal, *pair), lexicon.past(meant), "agreement of a reference", was, 1)
    yield Step(was, "the", FUNCTION, the, 1)
    yield Step(the, meant, "reference", ("closing", *pair), 1)
