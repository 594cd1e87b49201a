"""The grammar as a list of all its sentences: a route to its numbers that shares no code with it.

Written from the description of the language alone. What a text says is looked up sentence by
sentence; a window that begins in the middle of one is the end of some sentence and what follows.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import dropwhile, pairwise, permutations
from typing import NamedTuple

from andrea_exp.data.grammar_rules import Shares
from andrea_exp.data.grammar_words import Lexicon

Pair = tuple[str, str]
SHARES = Shares(statements=0.4, music=0.2, near=0.4, dated=0.5)
TINY = Lexicon(("cat",), ("cats",), ("sees",), ("see",), ("flute",), ("Monday",), ("Bob",))
SMALL = Lexicon(
    singular=("cat", "dog"),
    plural=("cats", "dogs", "pets"),
    verbs_singular=("sees",),
    verbs_plural=("see", "like"),
    instruments=("flute",),
    weekdays=("Monday", "Tuesday"),
    names=("Bob", "Carol"),
)


class Sentence(NamedTuple):
    text: tuple[str, ...]
    slots: tuple[str, ...]
    probability: float
    pair: Pair | None
    """The pets to remember from now on; None leaves them as they are."""


def statements(lexicon: Lexicon, shares: Shares, *, agreement: bool = True) -> list[Sentence]:
    """Every statement; without agreement, any verb follows any subject."""
    pets = lexicon.singular + lexicon.plural
    found: list[Sentence] = []
    for subject, object_ in permutations(pets, 2):
        one = subject in lexicon.singular
        verbs = lexicon.verbs_singular if one else lexicon.verbs_plural
        if not agreement:
            verbs = lexicon.verbs_singular + lexicon.verbs_plural
        base = shares.statements / len(pets) / (len(pets) - 1) / len(verbs)
        near = [("", 1 - shares.near)]
        near += [(f"near the {word}", shares.near / 2 / len(pets)) for word in pets]
        instruments = lexicon.instruments
        near += [(f"near the {word}", shares.near / 2 / len(instruments)) for word in instruments]
        for verb in verbs:
            for place, chance in near:
                for end, share in endings(lexicon, shares):
                    text = f"the {subject} {place} {verb} the {object_} {end}".split()
                    verb_slot = "agreement past a noun" if place else "agreement"
                    slots = ["function word", "subject"]
                    slots += ["function word", "function word", "neighbour"] if place else []
                    slots += [verb_slot, "function word", "object", *end_slots(end)]
                    pair = (subject, object_)
                    found.append(Sentence(tuple(text), tuple(slots), base * chance * share, pair))
    return found


def music(lexicon: Lexicon, shares: Shares) -> list[Sentence]:
    base = shares.music / len(lexicon.names) / len(lexicon.instruments)
    slots = ("name", "function word", "function word", "instrument")
    return [
        Sentence(
            tuple(f"{name} plays the {instrument} {end}".split()),
            (*slots, *end_slots(end)),
            base * share,
            None,
        )
        for name in lexicon.names
        for instrument in lexicon.instruments
        for end, share in endings(lexicon, shares)
    ]


def references(lexicon: Lexicon, shares: Shares, pair: Pair) -> list[Sentence]:
    share = (1 - shares.statements - shares.music) / 2
    function = "function word"
    slots = (function, "ordinal", "agreement of a reference", function, "reference", function)
    return [
        Sentence(
            tuple(
                f"the {which} {'was' if pet in lexicon.singular else 'were'} the {pet} .".split()
            ),
            slots,
            share,
            None,
        )
        for which, pet in zip(("first", "second"), pair, strict=True)
    ]


def endings(lexicon: Lexicon, shares: Shares) -> list[tuple[str, float]]:
    days = lexicon.weekdays
    return [(".", 1 - shares.dated), *((f"on {day} .", shares.dated / len(days)) for day in days)]


def end_slots(end: str) -> list[str]:
    return ["function word"] if end == "." else ["function word", "day", "function word"]


def rate(found: list[Sentence]) -> float:
    """Entropy per word of sentences that are drawn independently of each other."""
    entropy = sum(-s.probability * math.log(s.probability) for s in found)
    return entropy / sum(s.probability * len(s.text) for s in found)


def read(words: list[str], lexicon: Lexicon, shares: Shares) -> Iterator[Sentence]:
    """The sentences of a text from the first statement on, since references speak of statements.

    A sentence that is not of the language is a KeyError.
    """
    found = statements(lexicon, shares)
    free = {sentence.text: sentence for sentence in found + music(lexicon, shares)}
    opening = {sentence.text for sentence in found}
    stops = [-1, *(index for index, word in enumerate(words) if word == ".")]
    texts = [tuple(words[a + 1 : b + 1]) for a, b in pairwise(stops)]
    bound: dict[tuple[str, ...], Sentence] = {}
    for text in dropwhile(lambda text: text not in opening, texts):
        sentence = free[text] if text in free else bound[text]
        if sentence.pair is not None:
            bound = {s.text: s for s in references(lexicon, shares, sentence.pair)}
        yield sentence


class Reader:
    """Probabilities of texts and windows by looking through all sentences."""

    def __init__(self, lexicon: Lexicon, shares: Shares = SHARES, *, agreement: bool = True):
        self.pairs = list(permutations(lexicon.singular + lexicon.plural, 2))
        self.free = statements(lexicon, shares, agreement=agreement) + music(lexicon, shares)
        self.bound = {pair: references(lexicon, shares, pair) for pair in self.pairs}
        some = self.free + self.bound[self.pairs[0]]
        self.mean_length = sum(s.probability * len(s.text) for s in some)
        self._whole = {
            pair: by_first_word([(s.text, s) for s in self.sentences(pair)]) for pair in self.pairs
        }
        self._ends = {
            pair: by_first_word(
                [(s.text[cut:], s) for s in self.sentences(pair) for cut in range(len(s.text))]
            )
            for pair in self.pairs
        }
        self.after = cache(self._after)

    def sentences(self, pair: Pair) -> list[Sentence]:
        return self.free + self.bound[pair]

    def _after(self, words: tuple[str, ...], pair: Pair) -> float:
        """Probability that a text which begins with a sentence begins with these words."""
        return self._match(words, pair, self._whole[pair]) if words else 1.0

    def window(self, words: tuple[str, ...]) -> float:
        """Probability of these words at a random place of the endless text."""
        parts = (self._match(words, pair, self._ends[pair]) for pair in self.pairs)
        return sum(parts) / len(self.pairs) / self.mean_length

    def _match(
        self,
        words: tuple[str, ...],
        pair: Pair,
        index: dict[str, list[tuple[tuple[str, ...], Sentence]]],
    ) -> float:
        total = 0.0
        for text, sentence in index.get(words[0], []):
            size = min(len(text), len(words))
            if text[:size] == words[:size]:
                rest = self.after(words[size:], sentence.pair or pair)
                total += sentence.probability * rest
        return total


def by_first_word(
    texts: list[tuple[tuple[str, ...], Sentence]],
) -> dict[str, list[tuple[tuple[str, ...], Sentence]]]:
    found: defaultdict[str, list[tuple[tuple[str, ...], Sentence]]] = defaultdict(list)
    for text, sentence in texts:
        found[text[0]].append((text, sentence))
    return found
