//! Failures of jobs of threads: which rank is named, the description, and the calls afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use necklace::Rank;
use necklace::transport::fault::{Fault, Faulty, What};
use necklace::transport::trace::{Direction, Tracing};
use necklace::transport::{Cause, ContextId, Endpoint, Failure, OpenError, local};

use crate::support::{Round, Work, alltoall, on_each, program, ranks, world};

/// Makes two calls in which all ranks exchange, with injected faults, and returns the failures.
fn exchange_with(size: usize, script: &[Fault]) -> Vec<Result<(), Failure>> {
    let endpoints = local::job(size).unwrap().into_iter().map(|endpoint| Faulty::new(endpoint, script)).collect();
    on_each(endpoints, |endpoint| {
        let mut work = Work::new(world(&endpoint), alltoall(endpoint.rank().index(), size, 64)).within(300);
        (0..2).try_for_each(|_| work.call())
    })
}

fn all_fail_alike(outcomes: &[Result<(), Failure>]) -> Failure {
    let first = outcomes[0].clone().unwrap_err();
    assert!(outcomes.iter().all(|outcome| *outcome == Err(first.clone())), "{outcomes:#?}");
    first
}

#[test]
fn slow_rank_is_tolerated_and_silent_rank_fails_all() {
    let slow = Fault::of(Rank::new(1), What::Delay(Duration::from_millis(20)));
    assert!(exchange_with(3, &[slow]).iter().all(Result::is_ok));
    let silent = Fault::of(Rank::new(1), What::Silence(Duration::from_secs(60))).in_call(1);
    let failure = all_fail_alike(&exchange_with(3, &[silent]));
    assert_eq!((failure.call, failure.culprit), (1, Some(Rank::new(1))));
    assert!(matches!(&failure.cause, Cause::Deadline { chain, .. } if chain.ends_with("rank 1, which has not called")));
}

#[test]
fn aborting_rank_gives_its_reason() {
    let failure =
        all_fail_alike(&exchange_with(4, &[Fault::of(Rank::new(2), What::GiveUp("tired".into())).in_call(1)]));
    let cause = Cause::aborted(Rank::new(2), "tired");
    assert_eq!((failure.call, failure.cause), (1, cause));
}

#[test]
fn fingerprint_mismatch_shows_both_descriptions() {
    let failure = all_fail_alike(&exchange_with(4, &[Fault::of(Rank::new(3), What::Fingerprint(0xbad))]));
    let Cause::Disagree { call_a, call_b, .. } = failure.cause else { panic!("{failure}") };
    assert_eq!(
        [&*call_a, &*call_b].map(|words| words.contains("fingerprint bad")).iter().filter(|bad| **bad).count(),
        1
    );
}

#[test]
fn short_message_is_reported_with_its_length() {
    let cut = Fault::of(Rank::new(0), What::Truncate { to: Rank::new(2), bytes: 63 });
    let failure = all_fail_alike(&exchange_with(3, &[cut]));
    let cause = Cause::length(Rank::new(0), Rank::new(2), 64, 63);
    assert_eq!(failure.cause, cause);
}

#[test]
fn missing_message_fails_at_the_deadline() {
    // Rank 0 leaves rank 1 out and goes on to the second call, where it waits for rank 1.
    let failure = all_fail_alike(&exchange_with(2, &[Fault::of(Rank::new(0), What::Drop(Rank::new(1))).in_call(0)]));
    assert!(matches!(failure.cause, Cause::Deadline { .. } | Cause::Disagree { .. }), "{failure}");
}

#[test]
fn injected_panic_is_reported_like_any_other() {
    let script = [Fault::of(Rank::new(1), What::Panic("by script".into()))];
    let endpoints = local::job(2).unwrap().into_iter().map(|endpoint| Faulty::new(endpoint, &script)).collect();
    let outcomes = on_each(endpoints, |endpoint| {
        let work = Work::new(world(&endpoint), alltoall(endpoint.rank().index(), 2, 8));
        catch_unwind(AssertUnwindSafe(move || { work }.call()))
    });
    let panic = outcomes[1].as_ref().unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some("by script"));
    let failure = outcomes[0].as_ref().unwrap().as_ref().unwrap_err();
    assert_eq!(failure.cause, Cause::gone(Rank::new(1), "panicked"));
}

#[test]
fn error_says_before_which_call_a_rank_returned() {
    for (calls, how) in [(0, "returned before the call"), (1, "returned in the middle of the call")] {
        let outcomes = on_each(local::job(2).unwrap(), |endpoint| {
            let me = endpoint.rank().index();
            let peer = [(1 - me as u32, 8)];
            // Rank 1 ends its call after the first of the rounds.
            let rounds: &[Round<'_>] = if me == 0 { &[(&peer, &peer), (&[], &peer)] } else { &[(&peer, &peer)] };
            let mut work = Work::new(world(&endpoint), program(rounds));
            if me == 0 { work.call() } else { (0..calls).try_for_each(|_| work.call()) }
        });
        let failure = outcomes[0].clone().unwrap_err();
        assert_eq!(failure.cause, Cause::gone(Rank::new(1), how));
        assert!(outcomes[1].is_ok());
    }
}

#[test]
fn supervised_panic_is_reported_with_its_message() {
    for opened in [true, false] {
        let (supervisor, endpoints) = local::supervised(3).unwrap();
        let outcomes = on_each(endpoints, |endpoint| {
            let me = endpoint.rank();
            if me.index() < 2 {
                return Work::new(world(&endpoint), program(&[(&[], &[(2, 8)])])).call();
            }
            let caught = catch_unwind(AssertUnwindSafe(move || {
                let _dropped_by_it = (opened.then(|| world(&endpoint)), endpoint);
                // A panic without the hook that would print it.
                resume_unwind(Box::new("index out of bounds"));
            }));
            let message = *caught.unwrap_err().downcast::<&str>().unwrap();
            // The others wait for what the launcher says.
            thread::sleep(Duration::from_millis(20));
            supervisor.panicked(me, message);
            Ok(())
        });
        let cause = Cause::gone(Rank::new(2), "panicked: index out of bounds");
        assert!(outcomes[..2].iter().all(|outcome| outcome.as_ref().unwrap_err().cause == cause), "{outcomes:?}");
    }
}

#[test]
fn unreported_panic_is_found_when_the_supervisor_ends() {
    let (supervisor, endpoints) = local::supervised(2).unwrap();
    let supervisor = std::sync::Mutex::new(Some(supervisor));
    let outcomes = on_each(endpoints, |endpoint| {
        if endpoint.rank().index() == 0 {
            return Work::new(world(&endpoint), program(&[(&[], &[(1, 8)])])).call();
        }
        let transport = world(&endpoint);
        let _ = catch_unwind(AssertUnwindSafe(move || {
            let _dropped_by_it = transport;
            resume_unwind(Box::new(()));
        }));
        drop(supervisor.lock().unwrap().take());
        Ok(())
    });
    let cause = Cause::gone(Rank::new(1), "panicked");
    assert_eq!(outcomes[0].clone().unwrap_err().cause, cause);
}

#[test]
fn chain_of_waiting_ranks_is_followed_to_its_end() {
    // Each waits for the next one; the last is in the call, but not in the round.
    let together = Barrier::new(4);
    let outcomes = on_each(local::job(4).unwrap(), |endpoint| {
        let me = endpoint.rank().index() as u32;
        // A rank forwards the data of the next rank in its next round.
        let rounds: &[Round<'_>] = match me {
            0 => &[(&[], &[(3, 1)]), (&[], &[]), (&[], &[]), (&[], &[(1, 8)])],
            1 => &[(&[], &[]), (&[], &[]), (&[], &[(2, 8)]), (&[(0, 8)], &[])],
            2 => &[(&[], &[]), (&[], &[(3, 8)]), (&[(1, 8)], &[])],
            _ => &[(&[(0, 1)], &[]), (&[(2, 8)], &[])],
        };
        let mut work = Work::new(world(&endpoint), program(rounds)).within(200);
        if me == 3 {
            work.round(0).unwrap();
            together.wait();
            return work.transport.failure();
        }
        let failure = work.call().unwrap_err();
        together.wait();
        Some(failure)
    });
    let failure = outcomes[0].clone().unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.as_ref() == Some(&failure)));
    let Cause::Deadline { chain, .. } = &failure.cause else { panic!("{failure}") };
    assert!(chain.ends_with("waits for rank 3, which is busy elsewhere after round 0"), "{chain}");
    assert_eq!(failure.culprit, Some(Rank::new(3)));
}

#[test]
fn opposite_orders_of_two_contexts_are_both_named() {
    let [one, other] = [1, 2].map(|which| ContextId::WORLD.child(which, 0));
    let leave = Barrier::new(2);
    let outcomes = on_each(local::job(2).unwrap(), |endpoint| {
        let me = endpoint.rank().index();
        let open = |context| Work::new(endpoint.open(context, &ranks(0..2)).unwrap(), alltoall(me, 2, 8)).within(200);
        let (mut first, second) = if me == 0 { (open(one), open(other)) } else { (open(other), open(one)) };
        let failure = first.call().unwrap_err();
        leave.wait();
        drop((first, second));
        failure
    });
    // The first rank to look sees the cycle. The other may then see an absent rank and a failed
    // context.
    let mut cycles = 0;
    for (failure, [mine, theirs]) in outcomes.iter().zip([[one, other], [other, one]]) {
        let Cause::Deadline { chain, .. } = &failure.cause else { panic!("{failure}") };
        if chain.ends_with("closes a cycle") {
            let at = [mine, theirs].map(|context| chain.find(&format!("in context {context}")).unwrap());
            assert!(at[0] < at[1] && failure.culprit.is_none(), "{failure:?}");
            cycles += 1;
        } else {
            assert!(
                chain.ends_with(&format!("; context {theirs}, of which it is a member too, has failed")),
                "{chain}"
            );
        }
    }
    assert!(cycles > 0, "{outcomes:?}");
}

#[test]
fn chain_of_waiting_ranks_continues_in_another_context() {
    let side = ContextId::WORLD.child(1, 0);
    let outcomes = on_each(local::job(3).unwrap(), |endpoint| {
        let me = endpoint.rank().index();
        let mut world = Work::new(world(&endpoint), program(&[(&[], &[])])).within(200);
        // Ranks 1 and 2 are 1 and 0 of the other context.
        let aside = (me > 0).then(|| endpoint.open(side, &ranks([2, 1])).unwrap());
        match (me, aside) {
            (0, _) => world.program = program(&[(&[], &[(1, 8)])]),
            (1, Some(aside)) => {
                world.output.resize(8, 0);
                let mut aside = Work::new(aside, program(&[(&[], &[(0, 8)])]));
                return aside.call().err();
            }
            // Rank 2 computes until rank 0 has given up.
            _ => {
                while world.transport.failure().is_none() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        world.output.resize(8, 0);
        world.call().err()
    });
    let failure = outcomes[0].clone().unwrap();
    let Cause::Deadline { chain, .. } = &failure.cause else { panic!("{failure}") };
    let expected = format!(
        "rank 0 waits in context world for rank 1, which waits in context {side} for rank 2, which has not called"
    );
    assert_eq!((&**chain, failure.culprit), (&*expected, Some(Rank::new(2))));
    // In the other context no deadline had passed when its rank 2 left.
    let cause = Cause::gone(Rank::new(0), "returned before the call");
    assert_eq!(outcomes[1].clone().unwrap().cause, cause);
}

#[test]
fn different_order_of_members_is_refused() {
    let endpoints = local::job(3).unwrap();
    let context = ContextId::WORLD.child(0, 0);
    let _open = endpoints[0].open(context, &ranks([0, 1])).unwrap();
    for members in [ranks([1, 0]), ranks([0, 1, 2])] {
        assert_eq!(endpoints[1].open(context, &members).err(), Some(OpenError::InUse(context)));
    }
    assert!(endpoints[1].open(context, &ranks([0, 1])).is_ok());
}

#[test]
fn context_is_free_again_after_all_members_left() {
    let endpoints = local::job(2).unwrap();
    let open = |rank: usize| endpoints[rank].open(ContextId::WORLD, &ranks(0..2));
    drop(open(0).unwrap());
    assert!(open(0).is_err(), "rank 1 has still to learn that rank 0 was there");
    drop(open(1).unwrap());
    let _first = open(0).unwrap();
    assert!(open(1).is_ok());
}

#[test]
fn endpoints_of_zero_or_too_many_ranks_are_refused() {
    for size in [0, local::MAX_RANKS + 1] {
        assert_eq!(local::job(size).unwrap_err().size, size);
    }
}

#[test]
fn trace_has_both_ends_of_each_message() {
    let tracing = Tracing::new();
    let endpoints = local::job(3).unwrap().into_iter().map(|endpoint| tracing.wrap(endpoint)).collect();
    on_each(endpoints, |endpoint| {
        let me = endpoint.rank().index();
        let mut work = Work::new(world(&endpoint), alltoall(me, 3, 10 + me as u64));
        // Lengths disagree in the second call.
        work.program = alltoall(me, 3, 10);
        work.call().unwrap();
        work.program = alltoall(me, 3, 10 + u64::from(me == 2));
        work.call().unwrap_err();
    });
    let events = tracing.events();
    assert_eq!(events.len(), 2 * 2 * 6);
    let whole: Vec<_> = events.iter().filter(|event| !event.failed).collect();
    assert_eq!(whole.len(), 12);
    for out in whole.iter().filter(|event| event.direction == Direction::Out) {
        let end = |event: &&&necklace::transport::trace::TraceEvent| {
            (event.direction, event.rank, event.peer) == (Direction::In, out.peer, out.rank)
        };
        let other = whole.iter().find(end).unwrap();
        assert_eq!((other.bytes, other.call, &*other.description), (10, 0, "a test"));
        assert!(out.begin <= other.end && other.begin <= out.end && out.begin <= out.end);
    }
    assert_eq!(tracing.chrome_trace().matches("\"ph\":\"X\"").count(), 24);
}

#[test]
fn endpoint_traits_forward_through_pointers() {
    fn place(endpoint: impl Endpoint) -> (Rank, usize) {
        (endpoint.rank(), endpoint.size())
    }
    let endpoint = local::job(2).unwrap().remove(1);
    let places = [place(&endpoint), place(Box::new(endpoint.clone())), place(Arc::new(&endpoint)), place(endpoint)];
    assert_eq!(places, [(Rank::new(1), 2); 4]);
}

/// Rank 0 gets a short message of each in a round, a long one in the next: which of a sender's two
/// comes first is never in doubt, though they come different ways, and the sender of a short one
/// goes on at once.
#[test]
fn long_message_is_not_mistaken_for_an_earlier_short_one() {
    let size = 64;
    let outcomes = on_each(local::job(size).unwrap(), |endpoint| {
        let others: Vec<u32> = (1..size as u32).collect();
        let of_all = |bytes| others.iter().map(|peer| (*peer, bytes)).collect::<Vec<_>>();
        let rounds = match endpoint.rank().index() {
            0 => program(&[(&[], &of_all(8)), (&[], &of_all(201))]),
            _ => program(&[(&[(0, 8)], &[]), (&[(0, 201)], &[])]),
        };
        let mut work = Work::new(world(&endpoint), rounds).within(60_000);
        (0..3000).try_for_each(|_| work.call())
    });
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

/// One sends a message of another length than the other awaits, and goes on: what it does next is
/// not blamed.
#[test]
fn wrong_length_is_named_even_if_the_sender_leaves() {
    for (sent, awaited) in [(100, 300), (0, 300), (300, 100), (100, 99)] {
        for (next, late) in [(300, 0), (300, 50), (8, 0), (8, 50)] {
            let outcomes = on_each(local::job(2).unwrap(), |endpoint| {
                let rounds = match endpoint.rank().index() {
                    0 => program(&[(&[(1, sent)], &[]), (&[(1, next)], &[])]),
                    _ => program(&[(&[], &[(0, awaited)]), (&[], &[(0, next)])]),
                };
                let mut work = Work::new(world(&endpoint), rounds).within(10_000);
                if endpoint.rank().index() == 1 {
                    thread::sleep(Duration::from_millis(late));
                }
                work.call()
            });
            let failure = outcomes[1].clone().unwrap_err();
            let cause = Cause::length(Rank::new(0), Rank::new(1), awaited, sent);
            assert_eq!((failure.round, failure.cause), (0, cause), "{sent} for {awaited}, then {next}, late by {late}");
        }
    }
}

/// An unexpected message is found in a later round, even if it is small and its sender has
/// continued.
#[test]
fn unexpected_message_is_found_by_the_next_message() {
    for (stray, next) in [(8, 8), (8, 300), (300, 300)] {
        let outcomes = on_each(local::job(2).unwrap(), |endpoint| {
            let rounds = match endpoint.rank().index() {
                0 => program(&[(&[(1, stray)], &[]), (&[(1, next)], &[])]),
                _ => program(&[(&[], &[]), (&[], &[(0, next)])]),
            };
            Work::new(world(&endpoint), rounds).within(10_000).call()
        });
        let failure = outcomes[1].clone().unwrap_err();
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{stray}, then {next}: {failure}");
    }
}

/// A rank waits for one that does not come, while another, which it does not wait for, has written
/// to it from another call and gone on to the next.
#[test]
fn messages_from_ranks_not_waited_for_are_checked() {
    let met = Barrier::new(3);
    let outcomes = on_each(local::job(3).unwrap(), |endpoint| {
        let me = endpoint.rank().index();
        let rounds: Round<'_> = [(&[(1, 8)][..], &[][..]), (&[], &[(2, 8)]), (&[], &[])][me];
        let mut work = Work::new(world(&endpoint), program(&[rounds])).within(60_000);
        work.signature.fingerprint = me as u64;
        let outcome = match me {
            0 => (0..2).try_for_each(|_| work.call()),
            1 => work.call(),
            _ => Ok(()),
        };
        met.wait();
        outcome
    });
    let failure = outcomes[1].clone().unwrap_err();
    assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
}

/// Calls rise: a transport relies on it, and refuses what does not.
#[test]
fn call_number_out_of_order_is_refused() {
    for (first, second) in [(5, 5), (5, 4), (5, 6)] {
        let met = Barrier::new(2);
        let outcomes = on_each(local::job(2).unwrap(), |endpoint| {
            let mut work = Work::new(world(&endpoint), alltoall(endpoint.rank().index(), 2, 8)).within(10_000);
            work.call = first;
            let before = work.call();
            met.wait();
            before.unwrap();
            work.call = second;
            work.call()
        });
        if second > first {
            assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        } else {
            let failure = all_fail_alike(&outcomes);
            assert!(matches!(failure.cause, Cause::Aborted { .. }), "{failure}");
        }
    }
}
