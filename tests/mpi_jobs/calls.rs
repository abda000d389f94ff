//! Random calls of the library's own collectives, on real ranks of MPI, compared with the
//! definition. All ranks draw the same calls, and know what each rank sends.

use std::any::type_name;
use std::env;
use std::fmt::Debug;
use std::ops::Deref;
use std::thread;
use std::time::Duration;

use bytemuck::bytes_of;
use necklace::topology::parse;
use necklace::transport::mpi::MpiJoin;
use necklace::{Communicator, Persistent, Strided};

use crate::job::{Job, together};
use crate::rank::Rank;
use crate::values::{Odd, Value, any};
use necklace_tests::suites::definitions::Dice;

/// Variable with the seed of the calls.
const SEED: &str = "NECKLACE_MPI_SEED";

/// A buffer with margins on both sides that must not change.
#[derive(Debug)]
struct Room<T>(Vec<T>);

/// Number of elements of a margin.
const BESIDE: usize = 3;

impl<T> Deref for Room<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // An empty slice as users have it, with a dangling address.
        if self.0.len() == 2 * BESIDE { &[] } else { &self.0[BESIDE..self.0.len() - BESIDE] }
    }
}

impl<T: Value> Room<T> {
    /// Makes a buffer of elements that no rank sends.
    fn new(length: usize) -> Self {
        let mut dice = Dice(77);
        Self((0..length + 2 * BESIDE).map(|_| any(&mut dice)).collect())
    }

    /// Makes a buffer of these elements.
    fn of(values: &[T]) -> Self {
        let mut room = Self::new(values.len());
        room.inside().copy_from_slice(values);
        room
    }

    fn inside(&mut self) -> &mut [T] {
        let end = self.0.len() - BESIDE;
        if end == BESIDE { &mut [] } else { &mut self.0[BESIDE..end] }
    }

    /// Checks the elements and the margins.
    #[track_caller]
    fn holds(&self, what: &str, wanted: &Self) {
        assert_eq!(self.0.len(), wanted.0.len());
        let differs = (0..self.0.len()).find(|&i| bytes_of(&self.0[i]) != bytes_of(&wanted.0[i]));
        if let Some(i) = differs {
            let (length, found, wanted) = (self.0.len() - 2 * BESIDE, self.0[i], wanted.0[i]);
            panic!("{what}: element {} of {length} is {found:?}, not {wanted:?}", i as isize - BESIDE as isize);
        }
    }
}

/// Executes a persistent plan with the data of a given turn.
type Again = Box<dyn FnMut(&mut Communicator, u64) + Send>;

/// A communicator of a rank, with its plans.
struct Part {
    name: String,
    comm: Communicator,
    plans: Vec<Again>,
}

impl Part {
    /// Chooses `native` for all collectives.
    fn new(name: &str, mut comm: Communicator) -> Self {
        for collective in ["alltoall", "alltoallv", "allgather", "allreduce", "scan", "broadcast", "barrier"] {
            comm.choose(collective, "native").unwrap();
        }
        Self { name: name.to_owned(), comm, plans: Vec::new() }
    }
}

impl Part {
    /// Executes a plan several times, with other values each time, and keeps it for later.
    fn keep<T: Value>(
        &mut self,
        mut plan: Persistent<T>,
        name: String,
        turn: impl Fn(u64) -> (Room<T>, Room<T>, Room<T>) + Send + 'static,
    ) {
        assert!(plan.description().contains(" by native"), "{}", plan.description());
        let mut again = move |comm: &mut Communicator, seed: u64| {
            let (send, mut receive, wanted) = turn(seed);
            plan.execute(comm, &send, receive.inside()).unwrap();
            receive.holds(&format!("{name}, planned"), &wanted);
        };
        (1..3).for_each(|seed| again(&mut self.comm, seed));
        self.plans.push(Box::new(again));
    }
}

/// The layout of a rank's blocks in a buffer: as arguments, and element by element.
#[derive(Clone, Debug)]
struct Side {
    blocks: Vec<Vec<Strided>>,
    indices: Vec<Vec<usize>>,
    length: usize,
}

impl Side {
    /// Draws a layout of blocks of these lengths, in any order, with gaps between them.
    fn draw(counts: Vec<usize>, strided: bool, dice: &mut Dice) -> Self {
        let none = || vec![Vec::new(); counts.len()];
        let mut side = Self { blocks: vec![Vec::new(); counts.len()], indices: none(), length: dice.below(3) };
        for i in dice.order(counts.len()) {
            let first = if strided { dice.below(counts[i] + 1) } else { counts[i] };
            for elements in [first, counts[i] - first] {
                let start = side.length + dice.below(3);
                let (part, indices) = if strided {
                    array(elements, start, dice)
                } else {
                    (Strided::run(start, elements), (start..start + elements).collect())
                };
                side.length = indices.iter().max().map_or(side.length, |last| last + 1);
                side.blocks[i].push(part);
                side.indices[i].extend(indices);
            }
        }
        side.length = if counts.iter().all(|count| *count == 0) { 0 } else { side.length + dice.below(3) };
        side
    }

    /// Returns counts and displacements.
    fn runs(&self) -> (Vec<usize>, Vec<usize>) {
        self.indices.iter().map(|block| (block.len(), block.first().copied().unwrap_or(0))).unzip()
    }

    /// Returns a buffer with these elements in the blocks.
    fn filled<T: Value>(&self, element: impl Fn(usize, usize) -> T) -> Room<T> {
        let mut room = Room::new(self.length);
        for (peer, block) in self.indices.iter().enumerate() {
            block.iter().enumerate().for_each(|(i, &at)| room.inside()[at] = element(peer, i));
        }
        room
    }
}

/// Lays out elements as one or two matrices, row by row or column by column.
fn array(elements: usize, start: usize, dice: &mut Dice) -> (Strided, Vec<usize>) {
    let lengths = [1, 2, 3, 7, elements / 3, elements / 2, elements].map(|length| length.max(1));
    let columns = lengths[dice.below(lengths.len())];
    let columns = if elements.is_multiple_of(columns) { columns } else { elements };
    let rows = elements.checked_div(columns).unwrap_or(0);
    let many = if rows.is_multiple_of(2) { 1 + dice.below(2) } else { 1 };
    let (rows, width) = (rows / many, columns + dice.below(3));
    let distance = rows * width + dice.below(3);
    let matrices = Strided::matrix(start, rows, columns, width).repeated(many, distance);
    let index = |matrix: usize, row: usize, column: usize| start + matrix * distance + row * width + column;
    let mut indices = Vec::with_capacity(elements);
    if dice.below(2) == 0 {
        (0..many).for_each(|m| (0..rows).for_each(|r| (0..columns).for_each(|c| indices.push(index(m, r, c)))));
        (matrices, indices)
    } else {
        (0..columns).for_each(|c| (0..rows).for_each(|r| (0..many).for_each(|m| indices.push(index(m, r, c)))));
        (matrices.transposed(), indices)
    }
}

/// One call, as all ranks know it.
struct Call<'a> {
    rank: &'a Rank,
    part: &'a mut Part,
    /// Its name.
    name: String,
    seed: u64,
    dice: Dice,
}

/// Returns the `i`-th element that `from` sends to `to`.
fn element<T: Value>(seed: u64, from: usize, to: usize, i: usize) -> T {
    any(&mut Dice(Dice(seed ^ (from as u64) << 48 ^ (to as u64) << 32 ^ i as u64).roll()))
}

fn block<T: Value>(seed: u64, from: usize, to: usize, elements: usize) -> Vec<T> {
    (0..elements).map(|i| element(seed, from, to, i)).collect()
}

impl Call<'_> {
    fn place(&self) -> (usize, usize) {
        (self.part.comm.rank(), self.part.comm.size())
    }

    fn elements(&mut self) -> usize {
        let most = [0, 1, 2, 3, 40, 300, 2000, 8000][self.dice.below(8)];
        if most < 4 { most } else { self.dice.below(most) }
    }

    fn run<T: Value>(&mut self) {
        match self.dice.below(10) {
            0 => self.alltoall::<T>(),
            1 => self.allgather::<T>(),
            2..=4 => self.any_reduction::<T>(),
            5 => self.broadcast::<T>(),
            6 => self.barrier(),
            7 => self.varying::<T>(false),
            _ => self.varying::<T>(true),
        }
    }

    fn alltoall<T: Value>(&mut self) {
        let ((me, size), elements) = (self.place(), self.elements());
        let send = move |seed| (0..size).flat_map(|to| block(seed, me, to, elements)).collect::<Vec<T>>();
        let wanted = move |seed| (0..size).flat_map(|from| block(seed, from, me, elements)).collect::<Vec<T>>();
        let Self { part, name, seed, .. } = self;
        let name = format!("{name}, alltoall of {elements}");
        let mut receive = Room::new(size * elements);
        part.comm.alltoall(&send(*seed), receive.inside()).unwrap();
        receive.holds(&name, &Room::of(&wanted(*seed)));
        let mut buffer = Room::of(&send(!*seed));
        part.comm.alltoall_in_place(buffer.inside()).unwrap();
        buffer.holds(&format!("{name} in place"), &Room::of(&wanted(!*seed)));
        let plan = part.comm.alltoall_init::<T>(elements).unwrap();
        part.keep(plan, name, move |seed| (Room::of(&send(seed)), Room::new(size * elements), Room::of(&wanted(seed))));
    }

    fn allgather<T: Value>(&mut self) {
        let ((me, size), elements) = (self.place(), self.elements());
        let wanted = move |seed| (0..size).flat_map(|from| block(seed, from, 0, elements)).collect::<Vec<T>>();
        let Self { part, name, seed, .. } = self;
        let name = format!("{name}, allgather of {elements}");
        let mut receive = Room::new(size * elements);
        part.comm.allgather(&block(*seed, me, 0, elements), receive.inside()).unwrap();
        receive.holds(&name, &Room::of(&wanted(*seed)));
        let plan = part.comm.allgather_init::<T>(elements).unwrap();
        let turn =
            move |seed| (Room::of(&block(seed, me, 0, elements)), Room::new(size * elements), Room::of(&wanted(seed)));
        part.keep(plan, name, turn);
    }

    fn any_reduction<T: Value>(&mut self) {
        let (elements, scan, operation) = (self.elements(), self.dice.below(2) == 0, self.dice.below(T::OPERATIONS));
        self.reduction::<T>(elements, scan, operation);
    }

    /// Every operation, on enough elements that a library processes several at once.
    fn every_reduction<T: Value>(&mut self) {
        for operation in 0..T::OPERATIONS {
            [false, true].into_iter().for_each(|scan| self.reduction::<T>(259, scan, operation));
        }
    }

    fn reduction<T: Value>(&mut self, elements: usize, scan: bool, operation: usize) {
        let (me, size) = self.place();
        let kind = type_name::<T>();
        let name =
            format!("{}, {} of {elements} {kind} by {operation}", self.name, ["allreduce", "scan"][usize::from(scan)]);
        for turn in 0..2 {
            let operand = |rank: usize, i: usize| {
                let mut dice = Dice(self.seed ^ (rank as u64) << 48 ^ turn << 40 ^ i as u64);
                dice.roll();
                T::operand(&mut dice)
            };
            let send: Vec<T> = (0..elements).map(|i| operand(me, i)).collect();
            let mut receive = Room::new(elements);
            T::reduce(&mut self.part.comm, scan, operation, &send, receive.inside()).unwrap();
            let last = if scan { me } else { size - 1 };
            let results = receive.to_vec();
            for (i, found) in results.iter().enumerate() {
                let wanted = (1..=last).fold(operand(0, i), |all, rank| T::define(operation, all, operand(rank, i)));
                assert!(found.is(&wanted), "{name}: element {i} is {found:?}, not {wanted:?}");
            }
            receive.holds(&name, &Room::of(&results));
        }
    }

    fn broadcast<T: Value>(&mut self) {
        let ((me, size), elements) = (self.place(), self.elements());
        for root in 0..size {
            let wanted = Room::of(&block::<T>(self.seed, root, 1, elements));
            let mut buffer =
                if me == root { Room::of(&block(self.seed, root, 1, elements)) } else { Room::new(elements) };
            self.part.comm.broadcast(buffer.inside(), root).unwrap();
            buffer.holds(&format!("{}, broadcast of {elements} from {root}", self.name), &wanted);
        }
    }

    /// Checks that no rank leaves the barrier before the last has come.
    fn barrier(&mut self) {
        let ((me, size), came) = (self.place(), format!("came {}", self.name));
        if me == self.dice.below(size) {
            thread::sleep(Duration::from_millis(3));
            self.rank.say(&came);
        }
        self.part.comm.barrier().unwrap();
        let all = (0..self.rank.size).map(|rank| self.rank.has_said(rank, &came)).filter(|has| *has).count();
        assert_eq!(all, 1, "{}, barrier", self.name);
    }

    /// Blocks of any length, contiguous or, if `strided`, in several pieces.
    fn varying<T: Value>(&mut self, strided: bool) {
        let ((me, size), most, seed) = (self.place(), self.elements(), self.seed);
        let count = |from: usize, to: usize| {
            let mut dice = Dice(seed ^ (from as u64) << 40 ^ (to as u64) << 20);
            if dice.below(3) == 0 { 0 } else { dice.below(most + 1) }
        };
        // Each rank draws its layout by itself.
        let mut dice = Dice(seed.wrapping_add(me as u64 + 1));
        let from = Side::draw((0..size).map(|to| count(me, to)).collect(), strided, &mut dice);
        let into = Side::draw((0..size).map(|from| count(from, me)).collect(), strided, &mut dice);
        let send = {
            let from = from.clone();
            move |seed| from.filled(|to, i| element::<T>(seed, me, to, i))
        };
        let wanted = {
            let into = into.clone();
            move |seed| into.filled(|from, i| element::<T>(seed, from, me, i))
        };
        let Self { part, name, .. } = self;
        let name = format!("{name}, {} of up to {most}", ["alltoallv", "alltoallw"][usize::from(strided)]);
        let (sent, mut receive) = (send(seed), Room::new(into.length));
        let comm = &mut part.comm;
        let plan = if strided {
            comm.alltoallw(&sent, &from.blocks, receive.inside(), &into.blocks).unwrap();
            comm.alltoallw_init::<T>(&from.blocks, &into.blocks)
        } else {
            let (counts, at) = from.runs();
            let (awaited, places) = into.runs();
            comm.alltoallv(&sent, (&counts, &at), receive.inside(), (&awaited, &places)).unwrap();
            comm.alltoallv_init::<T>((&counts, &at), (&awaited, &places))
        };
        receive.holds(&name, &wanted(seed));
        part.keep(plan.unwrap(), name, move |seed| (send(seed), Room::new(into.length), wanted(seed)));
    }
}

/// The communicators of a rank: all ranks, and parts of them. `None` for a part without this rank.
fn parts(name: &str, mut all: Communicator) -> Vec<Option<Part>> {
    let (me, size) = (all.rank(), all.size());
    let mut split = |what: &str, colour: Option<u32>, key: i64| {
        let Some(colour) = colour else {
            all.split_undefined().unwrap();
            return None;
        };
        Some(Part::new(&format!("{name}, {what} {colour}"), all.split(colour, key).unwrap()))
    };
    let odd = split("odd", Some(me as u32 % 2), 0);
    let reversed = split("reversed", Some(0), -(me as i64));
    let without = split("without", (size == 1 || me != 1).then_some(7), 0);
    vec![Some(Part::new(&format!("{name}, all"), all)), odd, reversed, without]
}

/// Runs this with elements of one of seventeen types.
macro_rules! each_type {
    ($call:expr, $kind:expr, $what:ident) => {
        match $kind {
            0 => $call.$what::<i8>(),
            1 => $call.$what::<i16>(),
            2 => $call.$what::<i32>(),
            3 => $call.$what::<i64>(),
            4 => $call.$what::<i128>(),
            5 => $call.$what::<isize>(),
            6 => $call.$what::<u8>(),
            7 => $call.$what::<u16>(),
            8 => $call.$what::<u32>(),
            9 => $call.$what::<u64>(),
            10 => $call.$what::<usize>(),
            11 => $call.$what::<f32>(),
            12 => $call.$what::<f64>(),
            13 => $call.$what::<[f32; 3]>(),
            14 => $call.$what::<()>(),
            15 => $call.$what::<u128>(),
            _ => $call.$what::<Odd>(),
        }
    };
}

/// Number of element types.
const TYPES: usize = 17;

/// Makes that many calls, on any of the communicators.
fn work(rank: &Rank, name: &str, all: Communicator, (seed, count): (u64, u64)) {
    let mut parts = parts(name, all);
    for number in 0..count {
        let mut dice = Dice(seed << 32 ^ number);
        let at = dice.below(parts.len());
        let Some(part) = &mut parts[at] else { continue };
        let name = format!("seed {seed}, call {number}, {}", part.name);
        let (seed, kind) = (dice.roll(), dice.below(TYPES));
        let mut call = Call { rank, part, name, seed, dice };
        each_type!(call, kind, run);
        let Call { part, mut dice, .. } = call;
        // Sometimes executes an earlier plan.
        if !part.plans.is_empty() {
            let which = dice.below(part.plans.len());
            part.plans[which](&mut part.comm, dice.roll());
            if part.plans.len() > 6 {
                drop(part.plans.swap_remove(which));
            }
        }
    }
}

/// Joins as one of all ranks.
pub(crate) fn join(rank: &Rank) -> Communicator {
    let endpoint = MpiJoin::world().unwrap().timeout(Duration::from_secs(30)).endpoint().unwrap();
    Communicator::new(endpoint, parse(&format!("complete:{}", rank.size)).unwrap()).unwrap()
}

/// Makes calls on one thread, or on two at the same time. The communicators of two threads are
/// parts of one, or each thread has its own job.
pub(crate) fn calls(rank: &Rank) -> i32 {
    let number = |at: usize| rank.word(at).parse::<u64>().unwrap();
    let (seed, count) = (number(2), number(3));
    let mut all = join(rank);
    let (one, other) = match rank.word(1) {
        "one" => {
            let mut part = Part::new("every reduction", all);
            for kind in 0..TYPES {
                let (name, dice) = (part.name.clone(), Dice(seed));
                let mut call = Call { rank, part: &mut part, name, seed, dice };
                each_type!(call, kind, every_reduction);
            }
            let all = part.comm;
            work(rank, "one", all, (seed, count));
            return 0;
        }
        "split" => {
            let one = all.split(0, 0).unwrap();
            (one, all)
        }
        _ => (all, join(rank)),
    };
    thread::scope(|scope| {
        scope.spawn(|| work(rank, "one", one, (seed, count)));
        work(rank, "other", other, (seed + 1000, count));
    });
    0
}

fn run(ranks: usize, threads: &str, count: u64) {
    let seed = env::var(SEED).unwrap_or_else(|_| "1".to_owned());
    let ended = Job::of(ranks, &format!("calls {threads} {seed} {count}")).run().with(0);
    assert_eq!(ended.all("ends "), vec!["0"; ranks]);
}

#[test]
fn calls_of_the_library_match_their_definition() {
    together(1..5, |ranks| run(ranks, "one", 100));
}

#[test]
fn two_threads_call_the_library_at_the_same_time() {
    together([(2, "split"), (3, "split"), (2, "joins"), (3, "joins")], |(ranks, threads)| run(ranks, threads, 50));
}
