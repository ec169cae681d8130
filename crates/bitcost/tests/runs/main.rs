//! The program as its users start it: runs in the embedded lab, broken off in every way, and resumed.
//!
//! The test program is its own helper where a process must be prepared before it becomes bitcost.

mod accounting;
mod against;
mod agents;
mod bench;
mod broken_off;
mod cached_metrics;
mod calibration;
mod counters;
mod cut;
mod delay;
mod forms;
mod host;
mod hosts;
mod knobs;
mod labs;
mod left_changed;
mod limiters;
mod many;
mod nobody_reads;
mod one_run;
mod parts;
mod result;
mod resume;
mod squatted;
mod ssh;
mod trust;

use testkit::Place::{Host, PrivateNetwork};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|verb| verb == host::WITHOUT_USER_NAMESPACES) {
        host::become_without_user_namespaces(&words[1..]);
    }
    trust::leave_mark(&words);
    squatted::take_names(&words);
    testkit::main_in(vec![
        ("one_command_gives_the_table_and_leaves_the_machine_as_it_was", Host, result::as_whoever_tests),
        ("an_ordinary_user_has_the_same", Host, result::as_an_ordinary_user),
        ("a_study_of_ones_own_runs_by_its_path", Host, result::own_study),
        ("both_ends_account_for_every_byte", Host, accounting::every_byte),
        ("lost_datagrams_part_the_two_receive_demands", Host, accounting::lost_datagrams),
        ("counters_are_read_at_the_edges_and_between", Host, counters::cadence),
        ("sleep_by_choice_is_told_apart", Host, counters::sleeps),
        ("the_idle_hosts_are_measured_before_each_block", Host, counters::idle),
        ("every_workload_goes_each_way_and_both", Host, parts::directions),
        ("every_part_is_told", Host, parts::told),
        ("parts_beside_each_other_account_for_what_they_moved", Host, parts::mixes),
        ("a_hundred_flows_over_two_threads_add_up", Host, many::a_hundred),
        ("a_thousand_flows_over_two_threads_run", Host, many::a_thousand),
        ("a_rate_that_is_kept_is_the_limiter", Host, limiters::pacing),
        ("a_shaper_is_named_with_its_interface", Host, limiters::shaper),
        ("transactions_have_no_limiter_but_a_latency", Host, limiters::transactions),
        ("eight_flows_give_one_service_demand", Host, many::eight),
        ("a_killed_controller_leaves_nothing_and_resumes", Host, broken_off::killed),
        ("an_interrupted_execution_prints_its_table_and_resumes", Host, broken_off::interrupted),
        ("a_study_against_a_setting_tells_what_it_changes", Host, against::setting),
        ("a_study_against_another_program_is_played_by_both", Host, against::other_program),
        ("what_cannot_be_compared_is_refused", Host, against::refused),
        ("worse_is_a_failure_where_asked", Host, against::fails_on_worse),
        ("a_killed_agent_costs_its_run_alone", Host, agents::killed),
        ("an_agent_that_hangs_costs_its_run_alone", Host, agents::hanging),
        ("a_lab_that_is_gone_ends_the_execution", Host, agents::lab_gone),
        ("a_setting_that_is_not_in_force_fails_the_run", Host, one_run::not_in_force),
        ("the_fastest_modes_are_searched_and_what_was_found_is_told", Host, one_run::mode_search),
        ("a_run_is_repeated_until_its_median_is_known_well_enough", Host, one_run::repeats),
        ("a_study_with_a_stop_rule_ends_when_it_is_kept", Host, one_run::stop_rule),
        ("a_run_is_printed_in_the_form_that_was_asked_for", Host, forms::of_a_run),
        ("repeated_runs_are_rows", Host, forms::of_repeats),
        ("a_reader_who_leaves_ends_the_run", Host, one_run::closed_output),
        ("no_verb_panics_where_its_output_cannot_be_written", Host, nobody_reads::every_verb),
        ("an_execution_that_nobody_watches_is_whole", Host, nobody_reads::execution),
        ("a_lab_stands_where_its_errors_cannot_be_written", Host, nobody_reads::lab),
        ("settings_of_the_agents_are_in_force", Host, one_run::settings_of_the_agents),
        ("traffic_threads_have_the_seats_that_were_asked_for", Host, one_run::seats),
        ("what_the_kernel_cached_of_earlier_connections_is_told_and_left", PrivateNetwork, cached_metrics::told),
        ("both_ends_may_be_this_machine", PrivateNetwork, hosts::local),
        ("sudo_is_told_the_path_that_a_rule_can_name", PrivateNetwork, hosts::by_sudo),
        ("ssh_carries_the_agent_of_either_end", PrivateNetwork, hosts::by_ssh),
        ("a_host_without_bitcost_gets_a_copy", PrivateNetwork, hosts::copied),
        ("what_is_wrong_with_a_host_is_said_with_what_to_do", PrivateNetwork, hosts::wrong),
        ("a_study_runs_between_hosts_that_ssh_reaches", PrivateNetwork, ssh::study::whole),
        ("an_execution_goes_on_between_its_hosts_alone", PrivateNetwork, ssh::study::resumed),
        ("what_is_wrong_with_ssh_is_said_with_what_to_do", PrivateNetwork, ssh::wrong::said),
        ("an_ordinary_user_at_a_host_makes_runs_without_settings", PrivateNetwork, ssh::wrong::ordinary_user),
        ("sudo_is_used_where_it_is_asked_for", PrivateNetwork, ssh::wrong::sudo),
        ("a_bitcost_that_is_not_the_same_is_not_used", PrivateNetwork, ssh::wrong::another_bitcost),
        ("hosts_that_are_cut_off_restore_and_the_execution_goes_on", PrivateNetwork, ssh::cut::link),
        ("a_controller_that_dies_leaves_hosts_as_before", PrivateNetwork, ssh::cut::controller),
        ("a_lab_is_built_visited_listed_and_taken_down", Host, labs::visited),
        ("an_ordinary_user_visits_a_lab_too", Host, labs::visited_by_an_ordinary_user),
        ("a_killed_lab_leaves_nothing_of_what_ran_in_it", Host, labs::killed),
        ("many_labs_stand_beside_each_other", Host, labs::many),
        ("names_of_labs_that_another_user_took_are_told_apart", PrivateNetwork, squatted::by_another_user),
        ("a_shaped_lab_keeps_its_rate", Host, labs::shaped),
        ("tcp_gets_the_room_that_was_asked_for", Host, labs::sized),
        ("a_delay_line_is_recorded_with_what_it_dropped", Host, delay::recorded),
        ("a_queue_limit_without_a_queue_is_refused", Host, delay::asked_in_vain),
        ("what_the_path_carries_is_measured_before_the_first_run", Host, calibration::measured),
        ("a_calibration_that_was_left_out_is_told", Host, calibration::left_out),
        ("a_path_too_slow_to_calibrate_has_no_ceiling", Host, calibration::too_little),
        ("resuming_does_not_calibrate_again", Host, calibration::not_again),
        ("a_delay_backend_where_there_is_no_choice_is_refused", Host, delay::backend_in_vain),
        ("netem_asked_for_by_name_is_used_or_refused", Host, delay::netem_by_name),
        ("settings_of_the_hosts_are_recorded_as_asked_and_in_force", Host, knobs::recorded),
        ("a_setting_that_does_not_take_fails_the_run", Host, knobs::not_applied),
        ("wishes_that_a_host_cannot_fulfil_are_refused", PrivateNetwork, left_changed::refused_wishes),
        ("a_damaged_journal_restores_what_is_whole_and_is_kept", PrivateNetwork, left_changed::damaged_journal),
        ("journals_that_others_could_have_made_are_refused", PrivateNetwork, left_changed::hostile_journals),
        ("a_journal_of_another_network_stops_no_run_here", PrivateNetwork, left_changed::other_network),
        ("a_journal_of_another_boot_is_told", PrivateNetwork, left_changed::other_boot),
        ("resuming_refuses_what_is_not_the_same", Host, resume::refuses),
        ("resuming_repeats_what_measured_nothing", Host, resume::repeats_what_measured_nothing),
        ("a_plan_starts_no_program", Host, trust::plan_starts_nothing),
        ("what_a_log_names_is_checked_before_it_is_started", Host, trust::checked_before_anything_is_started),
        ("what_another_user_wrote_is_not_started_unless_trusted", Host, trust::of_another_user),
        ("a_log_cut_anywhere_is_shown", Host, cut::shown),
        ("a_cut_log_resumes", Host, cut::resumes),
        ("without_user_namespaces_the_reason_and_the_remedy_are_said", Host, host::no_user_namespaces),
        ("an_unwritable_folder_is_said_before_any_traffic", Host, host::unwritable),
        ("a_full_disk_is_said_before_any_traffic", Host, host::full),
    ]);
}
