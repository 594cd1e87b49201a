"""What the lessons claim, and the tests that show it.

The numbers are those of the lessons' claims in the order in which the lessons make them. A claim
about what a training reaches is measured, with seeds, and no test promises its outcome.
"""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parent.parent


class Claim(NamedTuple):
    """One claim, with its exact part and what is left to a measurement."""

    text: str
    shown_by: tuple[str, ...]
    """Tests, each as file::function below tests/."""
    measured: str = ""
    """The part that needs training, and the command or page that measures it."""


CLAIMS = {
    1: Claim(
        "a lookup is an index: the product with one-hot rows, bit for bit; -1 and V are refused",
        (
            "embedding/test_table.py::test_a_lookup_is_the_product_with_one_hot_rows_bit_for_bit",
            "embedding/test_contract.py::test_an_id_outside_the_table_is_refused_with_the_range",
        ),
    ),
    2: Claim(
        "ids (B, T) become (B, T, D), token plus position row, whatever the choices",
        (
            "lesson/test_vectors.py::test_blocks_see_token_plus_position_row_in_every_sequence",
            "embedding/test_contract.py::"
            "test_position_rows_are_added_to_every_sequence_bit_for_bit",
        ),
    ),
    3: Claim(
        "the sizes of the exercise's tables: 25,560,576, 1,671,552, 6,488,832, 786,432, 7,275,264",
        (
            "lesson/test_sizes.py::test_a_token_table_has_the_size_of_the_exercise",
            "lesson/test_sizes.py::test_the_two_tables_of_the_example_make_the_embedding_layer",
            "commands/test_cost.py::test_no_weight_is_allocated",
        ),
    ),
    4: Claim(
        "totals and shares of every system: 98,698,752; 6.574, .797, 86.054, 6.574 %",
        (
            "lesson/test_sizes.py::test_a_total_is_the_one_that_was_worked_out",
            "commands/test_cost.py::test_the_parts_and_shares_of_the_lessons_example",
            "commands/test_cost.py::"
            "test_every_system_with_every_position_and_output_is_the_closed_form",
        ),
    ),
    5: Claim(
        "learned rows add T D parameters, a sinusoid as large a buffer, the others nothing",
        ("lesson/test_sizes.py::test_a_scheme_adds_its_rows_and_nothing_else",),
    ),
    6: Claim(
        "the demo: 20,480, 8,192 and 0 parameters; (4, 32, 64); length 129 refused",
        (
            "lesson/test_demo.py::test_the_demo_has_its_parameters_and_shapes",
            "lesson/test_demo.py::"
            "test_one_position_more_than_the_table_is_refused_with_both_numbers_or_computed",
            "lesson/test_demo.py::test_neighbouring_rows_of_the_demo_are_alike_in_one_table_alone",
            "lesson/test_demo.py::test_a_class_used_by_itself_refuses_what_the_lessons_refuses",
            "lesson/test_demo.py::"
            "test_rows_of_another_shape_are_refused_where_torch_would_broadcast",
            "lesson/test_demo.py::test_ids_of_another_type_or_shape_are_refused_by_the_demos_table",
        ),
    ),
    7: Claim(
        "the sinusoid: row 0 is 0, 1, 0, 1, ...; row 1 .841471, .540302, ...; norms sqrt(D/2)",
        (
            "position/test_sinusoidal.py::test_rows_are_the_printed_ones",
            "position/test_sinusoidal.py::test_row_zero_alternates_zero_and_one",
            "position/test_sinusoidal.py::"
            "test_every_row_has_the_norm_of_half_the_width_and_no_two_are_equal",
        ),
    ),
    8: Claim(
        "neighbours of the sinusoid: .9662 .8845 .7996 .7479 .7345 .7362 at D 64, for any p",
        (
            "position/test_sinusoidal.py::"
            "test_the_cosine_of_neighbours_depends_on_their_distance_alone",
            "evaluate/test_panel.py::test_cosine_by_lag_of_the_sinusoid_is_the_closed_form",
        ),
    ),
    9: Claim(
        "one orthogonal map shifts every row of the sinusoid; products depend on the offset alone",
        (
            "lesson/test_rows.py::test_the_row_of_an_offset_says_how_every_row_is_shifted_by_it",
            "position/test_sinusoidal.py::test_one_linear_map_shifts_every_row",
        ),
    ),
    10: Claim(
        "wavelengths from 6.2832 to 47,117 in 32 pairs at D 64, to 35,333 in 16 at D 32",
        (
            "lesson/test_rows.py::test_wavelength_bands_at_two_widths",
            "lesson/test_rows.py::test_the_longest_wave_of_the_example",
            "position/test_sinusoidal.py::test_low_pairs_are_fine_and_high_pairs_coarse",
        ),
    ),
    11: Claim(
        "a fresh learned table looks random: neighbour cosine 0 with deviation .0111 at 64 x 128",
        (
            "lesson/test_rows.py::test_a_fresh_learned_table_looks_random_at_every_lag",
            "position/test_learned.py::test_neighbours_in_a_fresh_table_are_unrelated",
        ),
    ),
    12: Claim(
        "a trained learned table becomes smooth; shuffled rows score .55 uncentred",
        (
            "lesson/test_rows.py::test_a_shuffled_sinusoid_looks_smooth_until_it_is_centred",
            "evaluate/test_random_controls.py::test_every_draw_is_within_four_deviations_of_the_printed_mean",
        ),
        measured="smoothness of every run with position=learned, beside its controls",
    ),
    13: Claim(
        "a dot product is two lengths and a cosine",
        (
            "lesson/test_vectors.py::"
            "test_a_score_is_the_product_of_two_lengths_and_the_cosine_between",
            "lesson/test_vectors.py::test_a_cosine_is_that_product_without_the_lengths",
        ),
    ),
    14: Claim(
        "related words are close: not at init, where cosines are noise of deviation 1/sqrt(D)",
        ("lesson/test_vectors.py::test_before_training_related_words_are_no_closer_than_others",),
        measured="the rise by training; data=grammar has the words",
    ),
    15: Claim(
        "gradient reaches used rows alone: 2 and 1 for ids 1 2 1, B for a position row",
        (
            "embedding/test_table.py::test_gradients_add_up_over_repeated_ids",
            "embedding/test_contract.py::test_only_rows_whose_ids_occur_get_gradient",
            "output/test_untied.py::"
            "test_rows_absent_from_the_batch_get_gradient_on_the_output_side_alone",
            "position/test_learned.py::"
            "test_a_row_gets_one_gradient_per_sequence_and_later_rows_none",
        ),
    ),
    16: Claim(
        "a tied output reaches every row",
        (
            "output/test_tied.py::test_gradient_reaches_every_row_of_the_table",
            "lesson/test_drift.py::test_a_tied_table_has_no_such_row",
        ),
    ),
    17: Claim(
        "without gradient: plain descent and Adam leave a row, decay shrinks it, momentum moves it",
        (
            "lesson/test_drift.py::"
            "test_a_row_that_was_never_seen_stays_bit_identical_without_decay",
            "lesson/test_drift.py::test_decay_shrinks_such_rows_by_its_rates_product",
            "lesson/test_drift.py::test_a_row_seen_earlier_is_moved_by_momentum_alone",
            "lesson/test_drift.py::"
            "test_momentum_carries_a_row_on_by_the_geometric_series_of_its_last_step",
        ),
    ),
    18: Claim(
        "rows past the trained length never learn: bit-identical, or .9512 of themselves by decay",
        (
            "lesson/test_drift.py::test_rows_past_the_trained_length_never_learn",
            "position/test_beyond.py::test_rows_that_were_never_trained_get_no_gradient",
        ),
    ),
    19: Claim(
        "no positions, no order: without a mask, or in one causal layer; two layers see it",
        (
            "model/test_order.py::"
            "test_without_positions_and_mask_scores_only_move_with_their_tokens",
            "model/test_order.py::"
            "test_without_positions_one_causal_layer_does_not_see_the_order_of_the_past",
            "model/test_order.py::test_without_positions_two_causal_layers_do",
            "model/test_order.py::test_with_any_scheme_one_causal_layer_does",
        ),
    ),
    20: Claim(
        "first loss ln V + std^2 D / 2: 9.195 at .02, 9.542 at 1/sqrt(D), 2,900 at sqrt(D)",
        (
            "lesson/test_first_loss.py::"
            "test_the_first_loss_is_uniform_plus_half_the_variance_of_the_scores",
            "lesson/test_first_loss.py::"
            "test_the_root_of_the_width_for_its_inverse_gives_itself_away",
            "output/test_untied.py::"
            "test_the_first_loss_is_near_uniform_plus_half_the_variance_of_the_scores",
        ),
    ),
    21: Claim(
        "tying saves V D: 6.926, 6.574, 5.055 and 23.674 % of the untied totals",
        ("lesson/test_sizes.py::test_tying_saves_one_table",),
        measured="the loss, by a sweep over output=tied,untied",
    ),
    22: Claim(
        "a learned table is enough at a fixed length",
        (),
        measured="the loss at T, by a sweep over position=",
    ),
    23: Claim(
        "past its rows a learned table is refused, with lengths and policies; a sinusoid is not",
        (
            "position/test_learned.py::test_the_default_policy_refuses_and_names_what_would_work",
            "position/test_sinusoidal.py::test_rows_past_the_buffer_come_from_the_same_formula",
            "lesson/test_demo.py::"
            "test_one_position_more_than_the_table_is_refused_with_both_numbers_or_computed",
        ),
        measured="the loss at T and past it, by every run",
    ),
    24: Claim(
        "the formula extends, the loss may not",
        (),
        measured="the loss at 1, 2, 4 and 8 T, by `python -m andrea_exp -m experiment=past_T`",
    ),
    25: Claim(
        "rotation and bias live in attention: no input row, offsets alone, no common shift",
        (
            "lesson/test_rows.py::test_what_acts_in_attention_adds_no_row",
            "lesson/test_rows.py::test_rotated_products_depend_on_the_offset_alone",
            "position/test_contract.py::"
            "test_only_a_scheme_with_rows_of_its_own_notices_a_common_shift",
            "position/test_alibi.py::test_a_bias_depends_on_distance_alone",
        ),
    ),
    26: Claim(
        "position over token rows at init: 35.4, 19.6, 1, .707, by scheme and scale",
        (
            "position/test_sinusoidal.py::test_position_rows_over_token_rows_at_width_768",
            "lesson/test_rows.py::"
            "test_position_rows_over_token_rows_at_a_deviation_of_two_hundredths",
        ),
        measured="the shares after training",
    ),
    27: Claim(
        "one operation serves both tables, without sines at any step",
        (
            "lesson/test_vectors.py::test_one_operation_serves_trained_and_fixed_rows_alike",
            "lesson/test_vectors.py::test_only_rotation_computes_sines_at_every_step",
            "kernel/embedding/test_contract.py::"
            "test_the_sum_in_float32_is_bit_equal_to_one_addition",
            "kernel/embedding/test_contract.py::test_gradients_of_whole_numbers_are_exact",
        ),
        measured="time and memory, as tokens per second of every run",
    ),
    28: Claim(
        "the same init in every run: shared tensors are bit-equal whatever the choices",
        (
            "model/test_initialise.py::test_shared_tensors_start_bit_equal_whatever_the_choices",
            "model/test_initialise.py::test_parts_drawn_from_one_stream_would_not",
        ),
        measured="the spread over embedding.std, by a sweep",
    ),
}


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def missing(shown_by: tuple[str, ...]) -> list[str]:
    """The named tests that are not there."""
    lost: list[str] = []
    for name in shown_by:
        file, _, function = name.partition("::")
        path = TESTS / file
        if not path.is_file() or function not in functions(path):
            lost.append(name)
    return lost


def test_no_claim_is_left_out():
    assert sorted(CLAIMS) == list(range(1, 29))
    assert all(claim.shown_by or claim.measured for claim in CLAIMS.values())


@pytest.mark.parametrize("number", CLAIMS)
def test_every_test_that_shows_a_claim_exists(number: int):
    assert missing(CLAIMS[number].shown_by) == []


def test_a_test_that_was_renamed_would_be_missed():
    there = "lesson/test_claims.py::test_no_claim_is_left_out"
    gone = ("lesson/test_claims.py::test_renamed", "lesson/test_moved.py::test_gone")
    assert missing((there, *gone)) == list(gone)


def test_every_test_of_the_lessons_shows_a_claim():
    named = {name for claim in CLAIMS.values() for name in claim.shown_by}
    for path in sorted((TESTS / "lesson").glob("test_*.py")):
        if path != Path(__file__):
            found = {f"lesson/{path.name}::{name}" for name in functions(path)}
            tests = {name for name in found if "::test_" in name}
            assert tests - named == set()
