//! Tests of communicators over any backend. Collectives have the results of MPI's, by brute-force
//! definitions (all collectives, types, sizes and algorithms). Every mistake is an error that names
//! it, on every rank concerned.
//!
//! [`suites`](crate::suites!) makes a test of each case, for one backend.

mod abort;
mod absent;
mod arguments;
mod choice;
mod choice_scope;
mod contexts;
mod counts;
mod cubes;
mod custom;
mod custom_algorithms;
mod custom_schedules;
pub mod definitions;
mod disagreement;
pub mod failures;
mod grids;
mod hosts;
pub mod lengths;
mod neighbours;
mod networks;
mod persistent;
mod plans;
pub mod redistribution;
mod redistribution_mistakes;
pub mod reductions;
mod regular;
mod short_forms;
mod split;
mod started;
mod strided;
mod transform_mistakes;
pub mod transforms;
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
                abort_reaches_every_rank_with_its_reason
                first_failure_is_kept
                failure_of_the_first_call_leaves_every_rank_its_result
                abort_in_a_part_does_not_fail_the_whole
            }
            absent {
                absent_rank_is_named_by_every_rank
                late_rank_is_named_with_the_number_of_the_call
                absent_rank_is_found_with_the_silence_timeout_off
                computing_ranks_outlast_the_silence_timeout
                errors_count_calls_from_the_users_first
                rank_computing_too_long_within_a_call_is_named
                rank_that_returns_early_is_named_at_once
                panicking_rank_is_named_with_its_message
                caught_panic_does_not_hang_the_job
                contexts_called_in_opposite_orders_are_a_deadlock
                failure_stays_within_its_communicator
                split_without_a_rank_fails_for_all
                member_that_drops_its_part_is_named
                zero_timeout_does_not_hang
                ranks_busy_elsewhere_do_not_delay_the_deadline
                failure_of_a_part_names_ranks_of_the_job
            }
            arguments {
                buffers_of_wrong_lengths_are_refused
                predefined_operation_with_another_layout_is_refused
                short_forms_name_the_method_that_was_called
                missing_or_wrong_buffer_of_the_root_is_refused
                root_out_of_range_is_refused
                sizes_that_overflow_are_refused
                scratch_larger_than_memory_is_an_error
                counts_and_displacements_are_checked_together
                strided_blocks_are_checked_before_anything_moves
                blocks_of_too_many_runs_are_refused
                unusable_algorithms_are_refused_by_name
                argument_error_in_a_part_names_its_rank
                argument_error_concerns_one_rank_only
            }
            choice {
                every_fitting_algorithm_executes_its_collective
                invalid_parameters_are_refused_with_what_is_accepted
                auto_considers_variants
                auto_explains_its_choice_equally_on_every_rank
                explain_shows_the_measured_time_of_earlier_calls
                machine_of_rank_0_is_used_by_all
                collectives_work_under_any_placement
                small_cache_does_not_change_results
                agreeing_calls_work_without_fingerprints
                proof_figures_equal_the_papers
                messages_are_counted_once_for_all_block_sizes
            }
            choice_scope {
                using_applies_to_one_call_only
                refused_call_keeps_the_earlier_choice
                plans_of_different_algorithms_are_cached_separately
                persistent_plan_keeps_its_algorithm
                parts_inherit_fitting_choices
                random_choices_have_correct_results
            }
            contexts {
                large_message_does_not_delay_another_communicator
                threads_make_thousands_of_calls_on_four_communicators
            }
            counts {
                wrong_counts_name_ranks_and_both_lengths
                elements_of_different_sizes_are_different_calls
                relay_without_memory_fails_the_call_on_all
                lengths_that_overflow_in_relays_are_refused
                unexpected_block_is_found_in_the_next_call
                unexpected_block_is_found_when_its_receiver_leaves
            }
            cubes {
                cubes_exchange_by_necklaces
                subcubes_of_any_dimensions_exchange_concurrently
                arrays_are_permuted_on_cubes_and_on_their_parts
            }
            custom_algorithms {
                custom_algorithm_executes_every_collective
                k_to_all_collectives_are_performed
                custom_pairwise_algorithm_exchanges_any_lengths
                wrong_algorithm_is_refused_before_anything_moves
                endless_algorithm_is_refused_before_anything_moves
                algorithm_is_not_chosen_for_a_network_it_refuses
                different_algorithms_of_one_name_are_found
            }
            custom_schedules {
                schedules_read_from_json_execute_every_collective
                schedule_of_another_problem_is_refused
                wrong_schedule_is_refused_before_anything_moves
                different_schedules_of_one_name_are_found
            }
            disagreement {
                any_two_different_calls_disagree_on_two_ranks
                different_calls_disagree_on_five_ranks
                different_roots_and_reductions_disagree
                different_roots_and_reductions_disagree_on_three_ranks
                disagreeing_rank_exchanges_no_data
                planned_call_disagrees_with_another_call
                reductions_of_different_element_types_disagree
                call_without_messages_is_named_in_a_disagreement
                extra_call_of_one_rank_is_found
                disagreement_stays_within_its_part
                lengths_are_compared_without_fingerprints
                returned_rank_is_not_blamed_for_a_disagreement
                calls_of_a_returned_rank_are_still_compared
                close_finds_differing_roots_on_every_rank
                close_succeeds_after_equal_calls
            }
            grids {
                ranks_along_axes_form_communicators
                parts_of_a_grid_know_their_part_of_the_network
                meshes_end_at_their_borders
                wrong_grids_and_axes_are_refused
                threads_have_communicators_of_their_own
                duplicates_keep_the_grid
                different_parts_of_a_grid_are_found_in_the_next
            }
            hosts {
                two_level_algorithms_have_the_defined_results
                communicators_are_split_by_host
                different_hosts_are_found_at_the_start
                ranks_of_one_host_are_not_split_apart
            }
            lengths {
                blocks_of_any_lengths_are_collected_and_distributed
                every_algorithm_moves_blocks_of_any_lengths
                ranks_with_different_counts_are_told_both
                wrong_length_of_one_rank_is_found_by_all
                mistakes_in_lengths_are_refused
            }
            neighbours {
                neighbours_in_the_network_exchange_blocks
                neighbours_in_a_grid_are_matched_by_direction
                neighbours_in_any_graph_are_matched_in_order
                halo_of_an_array_is_exchanged_in_place
                blocks_are_shifted_and_swapped
                disagreeing_neighbours_are_told
                mistakes_with_neighbours_are_refused
            }
            networks {
                network_of_another_size_than_the_job_is_refused
                different_networks_are_found_at_the_start
                different_unnamed_networks_are_found_at_the_start
                ranks_of_an_embedded_network_are_the_nodes_of_its_guest
                different_embeddings_are_found_at_the_start
                different_placements_are_found_at_the_start
                endpoint_has_one_world_communicator
            }
            persistent {
                plan_is_executed_repeatedly_between_other_calls
                plan_and_direct_call_of_equal_sizes_agree
                plans_of_empty_blocks_work
                plans_of_any_lengths_are_executed_in_place
                plan_and_direct_call_in_place_agree
                mistakes_with_plans_in_place_are_refused
            }
            plans {
                plan_refuses_buffers_of_other_lengths
                plan_refuses_another_communicator
                plan_of_another_rank_or_job_is_refused
            }
            redistribution {
                arrays_go_from_any_distribution_to_any_other
                powers_of_two_are_redistributed_as_permute_does
                only_ranks_along_the_axis_that_changes_exchange_elements
                plans_of_long_rows_are_made_by_runs
                block_cyclic_arrays_of_any_blocks_are_planned
                chosen_algorithm_plans_redistributions
            }
            redistribution_mistakes {
                mistakes_in_redistributions_are_refused
                impossible_distributions_are_refused
                rank_with_too_many_pieces_is_told_to_all
                ranks_that_move_different_portions_are_told
            }
            reductions {
                every_operation_works_on_every_integer_type
                sums_have_the_same_bits_as_among_threads
                strings_of_digits_are_concatenated_in_rank_order
                every_operation_is_exact_on_small_floats
                custom_commuting_operations_work_in_any_order
                numbers_of_other_crates_are_reduced
                rounded_sums_have_equal_bits_on_every_rank_and_run
                placement_does_not_change_the_order_of_combination
            }
            regular {
                every_collective_moves_every_type
                blocks_of_a_mebibyte_are_exchanged
                every_rank_broadcasts_as_root
                every_rank_gathers_scatters_and_reduces_as_root
                barrier_waits_for_every_rank
                buffer_may_change_after_the_call
                random_sequences_of_calls_have_correct_results
            }
            short_forms {
                short_forms_have_the_results_of_the_long_ones
                mistakes_in_short_forms_are_refused_on_their_own_rank
            }
            split {
                rows_and_columns_of_a_torus_are_rings
                planes_of_64_ranks_exchange_as_tori
                rank_without_a_colour_is_in_no_part
                keys_order_the_ranks_and_equal_keys_keep_their_order
                unlinked_parts_have_a_complete_network
                nested_parts_work_concurrently_and_outlive_the_whole
                two_threads_call_two_communicators_in_opposite_orders
                duplicate_keeps_network_and_choices_with_own_calls
            }
            started {
                started_calls_have_the_results_of_blocking_ones
                started_and_blocking_calls_need_no_common_order
                buffers_come_back_after_an_error
                dropped_calls_are_completed
                calls_started_in_different_orders_disagree
                call_that_one_rank_does_not_start_ends_with_the_deadline
                late_start_is_waited_for
                panic_of_a_started_call_is_told_to_all
                abort_fails_calls_started_later
                abort_ends_calls_under_way
                computing_rank_outlasts_the_silence_timeout
                rank_that_leaves_with_calls_under_way_is_named_at_once
                requests_are_started_again
                misused_requests_are_refused
                borrowed_buffers_are_used_in_a_scope
                choices_apply_to_started_calls
                started_calls_are_awaited
            }
            strided {
                strided_blocks_go_to_strided_places
                strided_blocks_go_through_relays
                strided_blocks_are_exchanged_in_place
                matrix_is_transposed_by_an_exchange
                sent_blocks_may_overlap
            }
            transform_mistakes {
                impossible_transforms_are_refused_with_the_numbers
                grid_that_leaves_no_axis_whole_is_refused
                buffers_of_other_lengths_are_refused_and_the_plan_works
                ranks_that_plan_different_transforms_are_told
                chosen_algorithm_exchanges_the_array
                rank_that_left_is_an_error_of_the_exchange
                failed_exchange_fails_the_transform_on_all_ranks
                one_rank_is_told_of_axes_that_it_alone_has_wrong
                array_errors_are_their_own
            }
            transforms {
                complex_transforms_are_those_of_the_definition
                real_transforms_are_those_of_the_definition
                single_precision_is_as_right_as_it_can_be
                large_arrays_keep_their_energy_and_turn_by_shifts
                products_on_half_as_many_more_points_have_no_aliases
                default_grid_is_the_cheapest_for_what_is_exchanged
                slabs_along_an_axis_that_is_not_transformed_need_no_exchange
                transposed_transforms_take_fewer_exchanges
            }
            varying {
                blocks_of_any_length_are_delivered
                blocks_of_any_length_are_exchanged_in_place
                relays_learn_the_lengths_during_the_call
                random_lengths_and_displacements_work
                empty_exchange_works
                displacement_of_an_empty_block_is_ignored
                one_block_is_sent_to_every_rank
                plans_in_the_cache_are_those_of_the_call
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
