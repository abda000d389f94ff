//! What a transport is given and what it answers, as bytes.

use std::sync::Arc;
use std::time::Duration;

use necklace::Rank;
use necklace::machine::Machine;
use necklace::plan::{Buffer, Message, Program, ProgramRound, Run, Sizes};
use necklace::transport::{Cause, ContextId, Deadline, Failure, OpenError, Signature, Timeouts};

/// A value that can be written as bytes and read back.
pub(crate) trait Code: Sized {
    fn put(&self, into: &mut Vec<u8>);

    /// `None` for bytes that were not written.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// The bytes of one value.
pub(crate) fn encoded(value: &impl Code) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.put(&mut bytes);
    bytes
}

/// The value that these bytes are, all of them.
pub(crate) fn decoded<T: Code>(mut bytes: &[u8]) -> Option<T> {
    T::take(&mut bytes).filter(|_| bytes.is_empty())
}

/// Bytes as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

fn part<'a>(from: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    from.split_off(..length)
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Code for $number {
            fn put(&self, into: &mut Vec<u8>) {
                into.extend(self.to_le_bytes());
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(part(from, size_of::<Self>())?.try_into().ok()?))
            }
        }
    )*};
}

numbers!(u8, u32, u64, usize);

/// Types that are sent as another.
macro_rules! through {
    ($($type:ty as $other:ty: |$value:ident| $to:expr, |$sent:ident| $back:expr;)*) => {$(
        impl Code for $type {
            fn put(&self, into: &mut Vec<u8>) {
                let $value = self;
                let sent: $other = $to;
                sent.put(into);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let $sent = <$other>::take(from)?;
                $back
            }
        }
    )*};
}

through! {
    () as u8: |_value| 0, |_sent| Some(());
    bool as u8: |value| u8::from(*value), |sent| (sent < 2).then_some(sent == 1);
    String as Bytes: |value| Bytes(value.clone().into()), |sent| Self::from_utf8(sent.0).ok();
    Arc<str> as String: |value| value.to_string(), |sent| Some(sent.into());
    Duration as (u64, u32): |value| (value.as_secs(), value.subsec_nanos()),
        |sent| (sent.1 < 1_000_000_000).then(|| Self::new(sent.0, sent.1));
    Timeouts as (Duration, Duration): |value| (value.silence, value.arrival), |sent| Some(Self::new(sent.0, sent.1));
    Rank as usize: |value| value.index(), |sent| Some(Self::new(sent));
    ContextId as u64: |value| value.number(), |sent| Some(Self::of(sent));
    Machine as String: |value| value.to_string(), |sent| sent.parse().ok();
}

impl Code for Bytes {
    fn put(&self, into: &mut Vec<u8>) {
        self.0.len().put(into);
        into.extend_from_slice(&self.0);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = usize::take(from)?;
        Some(Self(part(from, length)?.to_vec()))
    }
}

impl<T: Code> Code for Vec<T> {
    fn put(&self, into: &mut Vec<u8>) {
        self.len().put(into);
        self.iter().for_each(|value| value.put(into));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        (0..usize::take(from)?).map(|_| T::take(from)).collect()
    }
}

impl<T: Code> Code for Option<T> {
    fn put(&self, into: &mut Vec<u8>) {
        self.is_some().put(into);
        self.iter().for_each(|value| value.put(into));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

impl<T: Code, E: Code> Code for Result<T, E> {
    fn put(&self, into: &mut Vec<u8>) {
        self.is_ok().put(into);
        match self {
            Ok(value) => value.put(into),
            Err(error) => error.put(into),
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        if bool::take(from)? { T::take(from).map(Ok) } else { E::take(from).map(Err) }
    }
}

impl<T: Code, U: Code> Code for (T, U) {
    fn put(&self, into: &mut Vec<u8>) {
        self.0.put(into);
        self.1.put(into);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((T::take(from)?, U::take(from)?))
    }
}

macro_rules! structs {
    ($($name:ident { $($field:ident),* $(,)? })*) => {$(
        impl $crate::proxy::codec::Code for $name {
            fn put(&self, into: &mut Vec<u8>) {
                $($crate::proxy::codec::Code::put(&self.$field, into);)*
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::proxy::codec::Code::take(from)?),* })
            }
        }
    )*};
}

/// Fields of variants without names have their numbers.
macro_rules! enums {
    ($($name:ident { $($tag:literal = $variant:ident { $($field:tt: $value:ident),* },)* })*) => {$(
        impl $crate::proxy::codec::Code for $name {
            fn put(&self, into: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field: $value),* } => {
                        into.push($tag);
                        $($crate::proxy::codec::Code::put($value, into);)*
                    })*
                    #[allow(unreachable_patterns, reason = "some of the library's may get more")]
                    other => panic!("there are no bytes for {other:?}"),
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(match <u8 as $crate::proxy::codec::Code>::take(from)? {
                    $($tag => Self::$variant { $($field: $crate::proxy::codec::Code::take(from)?),* },)*
                    _ => return None,
                })
            }
        }
    )*};
}

pub(crate) use {enums, structs};

structs! {
    Run { buffer, offset, len, stride, count }
    Sizes { input, output, scratch }
}

impl Code for Signature {
    fn put(&self, into: &mut Vec<u8>) {
        self.fingerprint.put(into);
        self.description.put(into);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Self::new(u64::take(from)?, Arc::<str>::take(from)?))
    }
}

impl Code for Failure {
    fn put(&self, into: &mut Vec<u8>) {
        self.call.put(into);
        self.description.put(into);
        self.round.put(into);
        self.observer.put(into);
        self.culprit.put(into);
        self.cause.put(into);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (call, description, round) = (u64::take(from)?, Arc::<str>::take(from)?, u32::take(from)?);
        let (observer, culprit) = (Rank::take(from)?, <Option<Rank> as Code>::take(from)?);
        let mut failure = Self::new(call, description, observer, Cause::take(from)?);
        (failure.round, failure.culprit) = (round, culprit);
        Some(failure)
    }
}

enums! {
    Buffer {
        0 = Input {},
        1 = Output {},
        2 = Scratch {},
    }
    Deadline {
        0 = Silence {},
        1 = Arrival {},
    }
}

impl Code for Cause {
    fn put(&self, into: &mut Vec<u8>) {
        match self {
            Self::Deadline { deadline, waited, chain, .. } => {
                into.push(0);
                deadline.put(into);
                (*waited, Arc::clone(chain)).put(into);
            }
            Self::Gone { rank, how, .. } => {
                into.push(1);
                (*rank, Arc::clone(how)).put(into);
            }
            Self::Disagree { rank_a, call_a, rank_b, call_b, .. } => {
                into.push(2);
                ((*rank_a, Arc::clone(call_a)), (*rank_b, Arc::clone(call_b))).put(into);
            }
            Self::Length { from, to, expected, found, .. } => {
                into.push(3);
                ((*from, *to), (*expected, *found)).put(into);
            }
            Self::Aborted { rank, reason, .. } => {
                into.push(4);
                (*rank, Arc::clone(reason)).put(into);
            }
            other => panic!("there are no bytes for {other:?}"),
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(match u8::take(from)? {
            0 => Self::deadline(Deadline::take(from)?, Duration::take(from)?, Arc::<str>::take(from)?),
            1 => Self::gone(Rank::take(from)?, Arc::<str>::take(from)?),
            2 => Self::disagree(<(Rank, Arc<str>)>::take(from)?, <(Rank, Arc<str>)>::take(from)?),
            3 => Self::length(Rank::take(from)?, Rank::take(from)?, u64::take(from)?, u64::take(from)?),
            4 => Self::aborted(Rank::take(from)?, Arc::<str>::take(from)?),
            _ => return None,
        })
    }
}

impl Code for OpenError {
    fn put(&self, into: &mut Vec<u8>) {
        match self {
            Self::Member { member, size, .. } => {
                into.push(0);
                (*member, *size).put(into);
            }
            Self::Twice(member) => {
                into.push(1);
                member.put(into);
            }
            Self::Outside(process) => {
                into.push(2);
                process.put(into);
            }
            Self::InUse(context) => {
                into.push(3);
                context.put(into);
            }
            other => panic!("there are no bytes for {other:?}"),
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(match u8::take(from)? {
            0 => Self::member(Rank::take(from)?, usize::take(from)?),
            1 => Self::Twice(Rank::take(from)?),
            2 => Self::Outside(Rank::take(from)?),
            3 => Self::InUse(ContextId::take(from)?),
            _ => return None,
        })
    }
}

/// Each message with its runs. Their numbers in the program do not matter.
impl Code for Program {
    fn put(&self, into: &mut Vec<u8>) {
        self.sizes().put(into);
        self.rounds().len().put(into);
        for round in self.rounds() {
            round.number.put(into);
            for messages in [&round.sends, &round.receives] {
                messages.len().put(into);
                for message in messages {
                    message.peer.put(into);
                    message.index.put(into);
                    message.bytes.put(into);
                    self.runs(message).to_vec().put(into);
                }
            }
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (sizes, mut runs, mut rounds) = (Sizes::take(from)?, Vec::new(), Vec::new());
        for _ in 0..usize::take(from)? {
            let number = Code::take(from)?;
            let mut messages = || {
                let count = usize::take(from)?;
                let message = |_| {
                    let (peer, index, bytes) = (Code::take(from)?, Code::take(from)?, Code::take(from)?);
                    let first = runs.len() as u32;
                    runs.extend(Vec::<Run>::take(from)?);
                    Some(Message { peer, index, bytes, runs: first..runs.len() as u32 })
                };
                (0..count).map(message).collect::<Option<Vec<_>>>()
            };
            rounds.push(ProgramRound { number, sends: messages()?, receives: messages()? });
        }
        Self::new(runs, rounds, sizes).ok()
    }
}
