use super::*;
use crate::transport::{Cause, OpenError};

/// The texts of an error and all its sources.
fn chain(error: &dyn StdError) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(source) = next {
        texts.push(source.to_string());
        next = source.source();
    }
    texts
}

fn failed(culprit: Option<usize>, members: &[usize]) -> Error {
    let cause = Cause::Gone { rank: Rank::new(1), how: "panicked: no".into() };
    let culprit = culprit.map(Rank::new);
    let failure = Failure { call: 3, description: "barrier".into(), round: 0, observer: Rank::new(0), culprit, cause };
    let members = members.iter().copied().map(Rank::new).collect();
    Error::Failed { rank: Rank::new(0), failure: Box::new(failure), members }
}

#[test]
fn cause_is_described_with_its_rank() {
    let two = Rank::new(2);
    let thread = JobCause::Thread(Arc::new(io::Error::other("too many threads")));
    let other = || Error::from(OpenError::Outside(Rank::new(9)));
    for (error, words) in [
        (JobError::of(two, JobCause::Panicked("no".to_owned())), "rank 2 panicked: no".to_owned()),
        (JobError::of(two, thread), "rank 2 could not be started: too many threads".to_owned()),
        (JobError::communicator(two, &"", other().into()), format!("rank 2: {}", other())),
        (JobError::from(other()), other().to_string()),
        (failed(Some(1), &[]).into(), "rank 0: call 3 (barrier), round 0: rank 1 panicked: no".to_owned()),
        (
            JobCause::Contradiction { found: "X is 3".into(), other: "Y is 4".into(), advice: "unset one".into() }
                .into(),
            "X is 3, but Y is 4: unset one".to_owned(),
        ),
        (
            JobCause::Ranks { place: Some("here".to_owned()), ranks: 0, most: 9 }.into(),
            "here: a job cannot have 0 ranks; expected 1 to 9".to_owned(),
        ),
    ] {
        assert_eq!(error.to_string(), words);
        assert_eq!(format!("{error:?}"), words);
    }
}

#[test]
fn build_error_is_of_the_network_only_if_it_concerns_that() {
    let ranks = BuildError::Ranks { ranks: 3, topology: "ring:4".to_owned(), nodes: 4 };
    assert!(matches!(JobError::from(ranks).cause(), JobCause::Network { place: None, .. }));
    let array = BuildError::Array { bits: 1, ranks: 3 };
    let words = array.to_string();
    let error = JobError::from(array);
    assert!(matches!(error.cause(), JobCause::Build(BuildError::Array { .. })));
    assert_eq!(chain(&error), [words]);
}

#[test]
fn inconsistent_program_is_a_bug_and_no_mistake_of_the_caller() {
    use crate::plan::{PlanError, ProgramError};
    let inconsistent = PlanError::from(ProgramError::Order { round: 2, before: 2 });
    let error = CallError::of("alltoall")(inconsistent);
    assert!(matches!(error, Error::Internal(_)), "{error}");
    assert!(error.to_string().starts_with("bug in necklace, please report it: "), "{error}");
    assert!(matches!(CallError::of("alltoall")(PlanError::Bytes), Error::Argument { .. }));
}

#[test]
fn culprit_is_the_first_failed_rank_of_the_job() {
    let rank = |error: Error| JobError::communicator(Rank::new(0), &"", error.into()).rank().map(Rank::index);
    assert_eq!(rank(failed(Some(1), &[])), Some(1));
    assert_eq!(rank(failed(Some(1), &[4, 6])), Some(6));
    assert_eq!(rank(failed(None, &[4, 6])), Some(4));
    assert_eq!(JobError::from(failed(Some(1), &[4, 6])).rank(), Some(Rank::new(6)));
    assert_eq!(JobError::from(Error::from(OpenError::Outside(Rank::new(9)))).rank(), None);
}

#[test]
fn source_chain_repeats_no_text() {
    let thread = JobError::of(Rank::new(2), JobCause::Thread(Arc::new(io::Error::other("too many threads"))));
    assert_eq!(chain(&thread), ["rank 2 could not be started: too many threads"]);
    assert_eq!(chain(thread.cause()), ["its thread could not be started", "too many threads"]);
    let called = JobError::from(failed(Some(1), &[]));
    let text = called.to_string();
    assert!(chain(&called)[1..].iter().all(|more| !text.contains(more.as_str())), "{:?}", chain(&called));
    assert!(called.cause().source().unwrap().is::<Error>());
    let join = JobError::from(crate::transport::tcp::JoinError::Rank { rank: 3, size: 2 });
    assert_eq!(chain(&join).len(), 1);
    assert!(join.cause().source().unwrap().is::<crate::transport::tcp::JoinError>());
}

#[test]
fn job_errors_are_small_and_can_be_sent() {
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<JobError>();
    assert_eq!(size_of::<JobError>(), size_of::<usize>());
}
