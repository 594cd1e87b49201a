"""Tokens are found by what people call them, and called by what finds them."""

import re

import pytest

from andrea_exp.data.base import Data
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.document import Document
from andrea_exp.data.naming import label_of, token_of
from andrea_exp.data.noise import NoiseConfig
from andrea_exp.tokenizer.base import TokenizerConfig
from tests import options
from tests.evaluate.test_floor import grammar

TEXT = "a cat and a hat and a bat\n" * 40


def corpus(tokenizer: str) -> Corpus:
    changes = {"size": 261} if tokenizer == "bpe" else {}
    config = options.typed(TokenizerConfig, options.values("tokenizer", tokenizer), **changes)
    document = [Document(name="it", text=TEXT)]
    return Corpus.build(train=document, validation=document, tokenizer=config, context=8)


def noise() -> Data:
    config = NoiseConfig(name="noise", batch_size=3, vocab=11, validation_tokens=90)
    return config.load(tokenizer=None, context=7)


@pytest.mark.parametrize("name", ["grammar", "noise", "bytes", "chars", "bpe"])
def test_every_label_finds_its_token(name: str):
    own = {"grammar": grammar, "noise": noise}
    data = own[name]() if name in own else corpus(name)
    labels = [label_of(data, token) for token in range(data.vocab)]
    assert [token_of(data, label) for label in labels] == list(range(data.vocab))


def test_a_text_of_one_token_finds_it():
    assert token_of(corpus("bytes"), "c") == ord("c")
    merged = corpus("bpe")
    assert label_of(merged, token_of(merged, " a")) == "' a'"
    assert token_of(grammar(), "cat") == grammar().words().index("cat")
    assert token_of(noise(), "7") == 7


@pytest.mark.parametrize(
    ("data", "text", "reason"),
    [
        ("bytes", "cat", "'cat' is 3 tokens of the tokenizer: 'c' 'a' 't'; choose a text"),
        ("bytes", "é", "'é' is 2 tokens of the tokenizer: 0xC3 0xA9; choose a text"),
        ("chars", "z", "'z' is not one token: character 'z'"),
        ("bytes", "", "'' is no text"),
        ("grammar", "horse", "'horse' is not a word of the data; choose of . the near"),
        ("noise", "11", "'11' is not an id of the data; choose a number from 0 to 10"),
        ("noise", "-1", "'-1' is not an id"),
    ],
)
def test_what_is_not_one_token_is_refused_with_what_it_is(data: str, text: str, reason: str):
    own = {"grammar": grammar, "noise": noise}
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}"):
        token_of(own[data]() if data in own else corpus(data), text)
