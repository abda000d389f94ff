//! What holds for a communicator over any backend: that it does what MPI's collectives do, by
//! brute-force definitions (all collectives, types, sizes and algorithms), and that what is wrong
//! is an error that says so, on every rank concerned.
//!
//! [`suites`](crate::suites!) makes a test of each case, for one backend.

mod abort;
mod absent;
mod arguments;
mod choice;
mod contexts;
mod counts;
mod cubes;
pub mod definitions;
mod disagreement;
pub mod failures;
mod networks;
mod persistent;
mod plans;
mod reductions;
mod regular;
mod split;
mod strided;
mod values;
mod varying;

use crate::jobs::{Backend, over};

/// Expands to a test for each case of the suites, in a module for each suite, over the backend
/// given. A case that is missing in the list is code that nobody uses, and so a warning.
#[macro_export]
macro_rules! suites {
    ($backend:expr) => {
        $crate::suites! { @with tests $backend }
    };
    (@with $with:ident $($given:expr)?) => {
        $crate::suites! { @$with [$($given)?]
            abort {
                an_abort_reaches_every_rank_with_its_reason
                the_first_failure_stays
                an_abort_in_a_part_leaves_the_whole_alone
            }
            absent {
                a_rank_that_never_comes_is_named_by_everybody
                a_rank_that_comes_late_in_a_later_call_is_named_with_the_call
                absent_rank_is_found_with_the_silence_timeout_off
                computing_ranks_outlast_the_silence_timeout
                errors_count_calls_from_the_users_first
                a_rank_that_computes_for_too_long_in_the_middle_of_a_call_is_named
                a_rank_that_returns_early_is_named_at_once
                a_rank_that_panics_is_named_with_its_message
                a_panic_that_is_caught_on_the_way_leaves_no_hang
                contexts_driven_in_opposite_orders_by_single_threads_are_a_circle
                what_fails_in_one_communicator_fails_in_no_other
                a_split_that_a_rank_does_not_join_fails_for_all
                a_member_that_drops_its_part_is_named_in_the_part
                a_deadline_of_no_time_is_an_error_or_success_but_no_hang
                ranks_that_are_busy_in_another_communicator_do_not_hold_up_the_deadline
                errors_in_a_part_name_its_ranks_as_in_the_job_too
            }
            arguments {
                buffers_of_wrong_lengths_are_refused
                a_predefined_operation_is_on_numbers_as_long_as_the_elements_and_as_aligned
                a_root_must_be_a_member
                sizes_that_overflow_are_refused
                memory_that_is_not_there_is_an_error
                counts_and_displacements_are_checked_together
                strided_blocks_are_checked_before_anything_moves
                blocks_in_more_places_than_memory_holds_are_refused_in_words
                algorithms_that_cannot_be_are_refused_by_name
                one_ranks_mistake_is_its_own
            }
            choice {
                every_algorithm_that_fits_does_its_collective_and_no_other_may_be_chosen
                parameters_are_chosen_with_the_name_and_refused_with_what_would_be_right
                auto_considers_variants
                auto_explains_itself_alike_on_every_rank
                rank_0_hands_out_its_machine
                ranks_may_sit_on_any_nodes
                a_small_cache_costs_time_but_no_correctness
                without_fingerprints_calls_that_agree_work
                a_proof_says_what_the_paper_says
                messages_are_counted_once_for_all_sizes_of_blocks
            }
            contexts {
                a_large_message_does_not_hold_up_small_calls_of_another_communicator
                threads_drive_four_communicators_of_four_ranks_for_thousands_of_calls
            }
            counts {
                every_rank_learns_who_sends_what_to_whom_and_what_was_awaited
                elements_of_other_lengths_are_another_call
                a_rank_that_has_no_memory_for_what_it_passes_on_tells_the_others
                lengths_that_overflow_only_on_the_way_are_refused
            }
            cubes {
                cubes_exchange_by_necklaces
                sub_cubes_of_any_dimensions_exchange_side_by_side
                arrays_are_permuted_on_cubes_and_on_their_parts
            }
            disagreement {
                any_two_different_calls_are_told_apart_by_everybody
                nothing_of_one_who_disagrees_is_received_and_it_receives_nothing
                a_planned_call_is_told_apart_from_another_call
                elements_of_different_kinds_are_not_reduced_together
                one_call_more_than_the_others_is_found
                a_disagreement_in_a_part_is_the_parts_alone
                without_fingerprints_lengths_still_must_agree
                who_has_returned_is_not_blamed_where_another_calls_something_else
                what_a_rank_called_that_has_returned_is_known_to_those_who_come_later
                close_finds_roots_that_differ_on_every_rank
                close_ends_well_where_all_called_the_same
            }
            networks {
                a_network_must_have_as_many_nodes_as_the_job_has_ranks
                ranks_that_disagree_on_the_network_find_out_at_the_start
                ranks_that_disagree_on_a_network_without_a_name_find_out_too
                ranks_that_disagree_on_who_sits_where_find_out_at_the_start
                an_endpoint_has_one_communicator_of_everybody
            }
            persistent {
                a_plan_is_executed_many_times_among_other_calls
                a_plan_and_a_plain_call_of_the_same_sizes_are_the_same_call
                plans_of_nothing_do_nothing
            }
            plans {
                a_plan_is_for_its_lengths_alone
                a_plan_is_for_its_communicator_alone
                a_plan_of_another_rank_or_another_job_is_refused
            }
            reductions {
                every_operation_is_done_on_every_integer
                every_operation_is_done_on_floats_that_are_exact
                operations_of_ones_own_that_commute_are_done_in_any_order
                numbers_of_other_crates_are_summed_and_multiplied
                rounded_sums_have_the_same_bits_on_every_rank_and_in_every_run
                contributions_are_combined_in_rank_order_however_ranks_are_placed
            }
            regular {
                every_collective_moves_every_type
                a_mebibyte_moves_as_a_byte_does
                any_root_broadcasts
                nobody_leaves_a_barrier_before_everybody_came
                a_buffer_is_sent_as_it_was_at_the_call
                random_sequences_of_calls_do_what_each_does_alone
            }
            split {
                rows_and_columns_of_a_torus_are_rings
                planes_of_a_cube_of_64_exchange_as_tori_do
                a_rank_without_a_colour_is_in_no_part
                keys_order_the_ranks_and_equal_keys_keep_their_order
                parts_that_are_not_linked_are_taken_for_complete
                parts_of_parts_work_side_by_side_and_outlive_their_whole
                two_communicators_are_driven_from_two_threads_in_opposite_orders
                a_duplicate_has_the_members_the_network_and_the_choices_but_calls_of_its_own
            }
            strided {
                blocks_go_from_where_they_lie_to_where_they_are_wanted
                strided_blocks_go_through_relays
                a_matrix_is_transposed_on_the_way
                what_is_sent_may_be_sent_to_several
            }
            values {
                an_algorithm_of_ones_own_does_every_collective
                pairs_of_ones_own_exchange_blocks_of_any_lengths
                schedules_read_from_json_do_every_collective
                what_is_used_for_one_call_is_forgotten_after_it
                a_call_that_fails_leaves_the_choice_before_it
                plans_are_kept_apart_by_what_they_use
                persistent_plans_go_by_what_was_chosen_at_their_making
                algorithms_that_are_wrong_are_refused_before_anything_moves
                an_algorithm_that_refuses_a_network_is_not_chosen
                schedules_of_something_else_are_refused_with_both_named
                schedules_that_are_wrong_are_refused_before_anything_moves
                algorithms_of_one_name_that_differ_between_ranks_are_found
                schedules_of_one_name_that_differ_between_ranks_are_found
                parts_inherit_what_fits_them
                random_choices_do_what_the_collective_means
            }
            varying {
                blocks_of_any_length_go_where_they_are_wanted
                relays_need_not_know_the_lengths_beforehand
                random_lengths_and_places
                nothing_at_all_may_be_exchanged
                where_an_empty_block_would_be_does_not_matter
                one_block_may_be_sent_to_everybody
            }
        }
    };
    (@tests [$backend:expr] $($suite:ident { $($case:ident)+ })+) => {
        $(mod $suite {
            #[allow(unused_imports)]
            use super::*;
            $(#[test]
            fn $case() {
                $crate::suites::run(&$backend, concat!(stringify!($suite), "::", stringify!($case)));
            })+
        })+
    };
    (@table [] $($suite:ident { $($case:ident)+ })+) => {
        &[$($((concat!(stringify!($suite), "::", stringify!($case)), $suite::$case)),+),+]
    };
}

/// All cases, by name.
const CASES: &[(&str, fn())] = suites! { @with table };

/// Runs a case with jobs of that backend.
pub fn run(backend: &'static dyn Backend, name: &str) {
    let (_, case) = CASES.iter().find(|(case, _)| *case == name).unwrap();
    over(backend, case);
}
