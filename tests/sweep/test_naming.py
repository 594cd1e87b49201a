"""Job names are readable, safe for file systems, and end with the hash."""

from andrea_exp.sweep.naming import LONGEST, digest_and_number, job_names

HASHES = ["0123456789ab", "ba9876543210"]


def test_a_name_has_what_differs_and_the_hash() -> None:
    jobs = [["position=rope", "seed=0", "name=x"], ["position=alibi", "seed=0", "name=x"]]
    assert job_names(jobs, HASHES) == ["position=rope-0123456789ab", "position=alibi-ba9876543210"]


def test_a_single_job_is_named_by_all_its_words() -> None:
    assert job_names([["seed=0", "name=x"]], HASHES[:1]) == ["seed=0,name=x-0123456789ab"]


def test_a_job_without_words_has_a_name() -> None:
    assert job_names([[]], HASHES[:1]) == ["job-0123456789ab"]


def test_what_file_systems_do_not_take_is_replaced() -> None:
    jobs = [["data.path='/a b/\N{GREEK SMALL LETTER ALPHA}:c*.txt'"], ["data.path=x"]]
    (name, _) = job_names(jobs, HASHES)
    assert name == "data.path=__a_b_\N{GREEK SMALL LETTER ALPHA}_c_.txt_-0123456789ab"


def test_a_long_name_is_cut_and_keeps_its_hash() -> None:
    jobs = [["data.path=" + "\N{GREEK SMALL LETTER ALPHA}" * 300], ["data.path=x"]]
    (name, _) = job_names(jobs, HASHES)
    assert len(name.encode()) <= LONGEST + 13
    assert name.endswith("-0123456789ab")


def test_a_name_gives_its_hash_back() -> None:
    assert digest_and_number("seed=0-0123456789ab") == ("0123456789ab", 1)
    assert digest_and_number("seed=0-0123456789ab-12") == ("0123456789ab", 12)
    assert digest_and_number("2026-01-01_00-00-00_012345") == (None, 0)
    assert digest_and_number("seed=0-0123456789AB") == (None, 0)
