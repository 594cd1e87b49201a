"""What identifies the claims of an experiment."""

import copy

from andrea_exp.claims.registration import claims_hash
from tests.claims.experiment import CLAIM

VALUES = {"seeds": [0, 1, 2], "claims": [CLAIM], "question": "why?"}


def test_claims_and_seeds_change_the_hash_and_nothing_else_does():
    digest = claims_hash(VALUES)
    assert digest is not None
    assert len(digest) == 12
    assert claims_hash(copy.deepcopy(VALUES) | {"question": "how?"}) == digest
    assert claims_hash(VALUES | {"seeds": [0, 1, 2, 3]}) != digest
    for key in CLAIM:
        edited = [{**CLAIM, key: "something else"}]
        assert claims_hash(VALUES | {"claims": edited}) != digest, key


def test_runs_without_claims_have_none():
    assert claims_hash(VALUES | {"claims": []}) is None
