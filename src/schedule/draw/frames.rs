//! The frames of a picture: which rounds they show, and their arrows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{DrawError, Frames, MAX_ARROWS, MAX_FRAMES, MAX_HOPS, View};
use crate::block::Volume;
use crate::ids::{Node, Rank};
use crate::vocabulary::{Combine, Outline, Problem, Round, Route, Transfer};

/// The maximum number of rounds that are drawn by default.
const AUTO_ROUNDS: usize = 12;
/// The number of rounds that are drawn by default if there are more and phases are not suitable.
const AUTO_FIRST: usize = 6;

/// A round, or a phase.
#[derive(Clone, Default)]
pub(super) struct Frame {
    /// The first and the last round, and the number of rounds.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) rounds: usize,
    pub(super) phase: usize,
    pub(super) arrows: Vec<Arrow>,
    pub(super) transfers: u64,
    /// The number of all transfers, if most were left out because they were too dense.
    pub(super) of: Option<u64>,
    /// The channels that several transfers of a round use, with the maximum number of transfers.
    pub(super) shared: BTreeMap<(usize, usize), u32>,
}

impl Frame {
    pub(super) fn sizes(&self) -> Sizes {
        Sizes::of(std::slice::from_ref(self))
    }

    /// Returns the nodes that send.
    pub(super) fn senders(&self) -> BTreeSet<usize> {
        self.arrows.iter().filter_map(|arrow| arrow.route.first().copied()).collect()
    }
}

/// The smallest and the largest transfer.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) least: Volume,
    pub(super) most: Volume,
}

impl Sizes {
    pub(super) fn of(frames: &[Frame]) -> Self {
        let mut volumes = frames.iter().flat_map(|frame| &frame.arrows).map(|arrow| arrow.volume);
        let first = volumes.next().unwrap_or_default();
        volumes.fold(Self { least: first, most: first }, |sizes, volume| Self {
            least: sizes.least.min(volume),
            most: sizes.most.max(volume),
        })
    }

    pub(super) fn differ(self) -> bool {
        self.least != self.most
    }
}

/// A transfer; in a phase, all transfers that differ only in their blocks.
#[derive(Clone)]
pub(super) struct Arrow {
    pub(super) source: Rank,
    pub(super) destination: Rank,
    pub(super) route: Vec<usize>,
    pub(super) combined: bool,
    /// The largest volume.
    pub(super) volume: Volume,
    pub(super) transfers: u64,
}

impl Arrow {
    pub(super) fn hops(&self) -> usize {
        self.route.len().saturating_sub(1)
    }
}

/// The content of a picture.
pub(super) struct Shown {
    pub(super) frames: Vec<Frame>,
    /// The rank whose transfers are shown, if not all are.
    pub(super) focus: Option<Rank>,
    /// A description of the part of the schedule, unless it is all, or all of the focus.
    pub(super) note: Option<String>,
}

impl Shown {
    /// Returns whether the nodes that send have a mark: if in some frame not all ranks do.
    pub(super) fn marks_senders(&self, outline: &Outline) -> bool {
        let some = |frame: &Frame| (1..outline.problem.ranks()).contains(&frame.senders().len());
        self.focus.is_none() && self.frames.iter().any(some)
    }
}

/// Collects the arrows of the rounds.
pub(super) struct Collector {
    problem: Problem,
    nodes: usize,
    view: View,
    /// Rounds so far.
    number: usize,
    /// Rounds with arrows.
    busy: usize,
    /// Whether rounds get frames. Reset when a round exceeds the limits.
    open: bool,
    rounds: Rounds,
    /// The frames of phases, as long as they keep to the limits.
    phases: Option<Phases>,
}

impl Collector {
    pub(super) fn new(problem: &Problem, view: &View) -> Result<Self, DrawError> {
        let ranks = problem.ranks();
        if let Some(rank) = view.focus.filter(|rank| rank.index() >= ranks) {
            return Err(DrawError::Rank { rank, ranks });
        }
        if let Frames::Range(range) = &view.frames {
            Load { frames: range.len(), ..Load::default() }.check()?;
        }
        Ok(Self {
            problem: problem.clone(),
            nodes: problem.topology().nodes(),
            view: view.clone(),
            number: 0,
            busy: 0,
            open: view.frames != Frames::Phases,
            rounds: Rounds::default(),
            phases: matches!(view.frames, Frames::Auto | Frames::Phases).then(Phases::default),
        })
    }

    pub(super) fn round(&mut self, round: &Round) -> Result<(), DrawError> {
        let number = self.number;
        self.number += 1;
        let busy = round.transfers.iter().any(|transfer| self.is_drawn(transfer));
        self.busy += usize::from(busy);
        match &self.view.frames {
            Frames::Range(range) if range.contains(&number) => self.rounds.add(self.frame(number, round)?),
            Frames::Rounds if busy => self.rounds.add(self.frame(number, round)?),
            Frames::Phases if busy => {
                let frame = self.frame(number, round)?;
                self.phases.as_mut().map_or(Ok(()), |phases| phases.add(&frame))
            }
            Frames::Auto if busy => self.choose_later(number, round),
            _ => Ok(()),
        }
    }

    /// Keeps a round as a round and in its phase, as long as each keeps to the limits.
    fn choose_later(&mut self, number: usize, round: &Round) -> Result<(), DrawError> {
        self.open &= self.rounds.frames.len() < AUTO_ROUNDS;
        if !self.open && self.phases.is_none() {
            return Ok(());
        }
        let frame = match self.frame(number, round) {
            // The amount so far.
            Err(DrawError::Large { .. }) if self.busy > 1 => {
                (self.open, self.phases) = (false, None);
                return Ok(());
            }
            frame => frame?,
        };
        if self.phases.as_mut().is_some_and(|phases| phases.add(&frame).is_err()) {
            self.phases = None;
        }
        self.open = self.open && self.rounds.add(frame).is_ok();
        Ok(())
    }

    /// Returns the frames. With [`Frames::Auto`], if the arrows are not `legible`, only those of
    /// one rank.
    pub(super) fn finish(self, legible: impl Fn(&[Arrow]) -> bool) -> Result<Shown, DrawError> {
        let Self { view, nodes, number, busy, rounds: Rounds { mut frames, .. }, phases, .. } = self;
        if let Frames::Range(range) = &view.frames
            && (range.is_empty() || range.end > number)
        {
            return Err(DrawError::Range { range: range.clone(), rounds: number });
        }
        let phases = phases.map(Phases::frames);
        let mut focus = view.focus;
        let mut note = match &view.frames {
            Frames::Range(range) if range.len() < number => Some(part(range.start, range.end - 1, number)),
            _ => None,
        };
        match (&view.frames, phases) {
            (Frames::Phases, Some(phases)) => frames = phases,
            (Frames::Auto, phases) if frames.len() < busy => {
                // A phase gets a frame if its rounds are similar.
                let plain = |frame: &Frame| frame.arrows.len() <= 4 * nodes;
                match phases.filter(|phases| phases.len() <= AUTO_ROUNDS && phases.iter().all(plain)) {
                    Some(phases) => frames = phases,
                    None => {
                        frames.truncate(AUTO_FIRST);
                        note = frames.last().map(|frame| part(0, frame.last, number));
                    }
                }
            }
            _ => {}
        }
        let chosen = view.frames != Frames::Auto || view.focus.is_some();
        if !chosen
            && !frames.iter().all(|frame| legible(&frame.arrows))
            && let Some((rank, alone)) = busiest(&mut frames)
        {
            focus = Some(rank);
            note = Some(note.map_or(alone.clone(), |part| format!("{part}; {alone}")));
        }
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        Ok(Shown { frames, focus, note })
    }

    fn is_drawn(&self, transfer: &Transfer) -> bool {
        self.view.focus.is_none_or(|rank| transfer.source == rank || transfer.destination == rank)
    }

    /// Returns the frame of a round.
    fn frame(&self, number: usize, round: &Round) -> Result<Frame, DrawError> {
        let mut frame = Frame { first: number, last: number, rounds: 1, phase: round.phase, ..Frame::default() };
        let mut load = Load::default();
        for transfer in round.transfers.iter().filter(|transfer| self.is_drawn(transfer)) {
            let Transfer { source, destination, blocks, combine, .. } = transfer;
            let arrow = Arrow {
                source: *source,
                destination: *destination,
                route: self.route(number, transfer)?,
                combined: *combine != Combine::Replace,
                volume: Volume::of(blocks),
                transfers: 1,
            };
            load.arrow(&arrow);
            load.check()?;
            frame.arrows.push(arrow);
        }
        frame.transfers = frame.arrows.len() as u64;
        frame.shared = shared(&frame.arrows);
        Ok(frame)
    }

    /// Returns the nodes on the route of a transfer.
    fn route(&self, round: usize, transfer: &Transfer) -> Result<Vec<usize>, DrawError> {
        let (problem, Transfer { source, destination, .. }) = (&self.problem, transfer);
        let ranks = problem.ranks();
        if let Some(&rank) = [source, destination].into_iter().find(|rank| rank.index() >= ranks) {
            return Err(DrawError::Rank { rank, ranks });
        }
        let default = |rank: &Rank| problem.placement().node(*rank);
        let route: Vec<Node> = match &transfer.route {
            Route::Via(nodes) => nodes.clone(),
            Route::Default => problem.topology().route(default(source), default(destination)),
        };
        if route.is_empty() || route.iter().any(|node| node.index() >= self.nodes) {
            let (sender, receiver, nodes) = (*source, *destination, self.nodes);
            return Err(DrawError::Route { round, sender, receiver, nodes });
        }
        Ok(route.into_iter().map(Node::index).collect())
    }
}

/// The amount to draw.
#[derive(Default)]
struct Load {
    frames: usize,
    arrows: usize,
    hops: usize,
}

impl Load {
    fn arrow(&mut self, arrow: &Arrow) {
        self.arrows += 1;
        self.hops += arrow.route.len();
    }

    fn check(&self) -> Result<(), DrawError> {
        let loads = [
            ("frames", self.frames, MAX_FRAMES),
            ("arrows", self.arrows, MAX_ARROWS),
            ("nodes on the routes of arrows", self.hops, MAX_HOPS),
        ];
        match loads.into_iter().find(|(_, found, limit)| found > limit) {
            Some((what, found, limit)) => Err(DrawError::Large { what, found, limit }),
            None => Ok(()),
        }
    }
}

/// One frame for each round.
#[derive(Default)]
struct Rounds {
    frames: Vec<Frame>,
    load: Load,
}

impl Rounds {
    fn add(&mut self, frame: Frame) -> Result<(), DrawError> {
        self.load.frames += 1;
        frame.arrows.iter().for_each(|arrow| self.load.arrow(arrow));
        self.load.check()?;
        self.frames.push(frame);
        Ok(())
    }
}

/// The key by which transfers of several rounds become one arrow: ends, route, combination, and the
/// index among equal ones of its round.
type Key = (Rank, Rank, Vec<usize>, bool, usize);

/// One frame for each phase, and the index of its arrows by key.
#[derive(Default)]
struct Phases {
    phases: BTreeMap<usize, (Frame, HashMap<Key, usize>)>,
    load: Load,
}

impl Phases {
    /// Adds a round to its phase.
    fn add(&mut self, round: &Frame) -> Result<(), DrawError> {
        let fresh = || Frame { first: round.first, phase: round.phase, ..Frame::default() };
        let (frame, index) = self.phases.entry(round.phase).or_insert_with(|| (fresh(), HashMap::new()));
        (frame.last, frame.rounds) = (round.last, frame.rounds + 1);
        frame.transfers += round.transfers;
        for (&channel, &transfers) in &round.shared {
            let most = frame.shared.entry(channel).or_default();
            *most = transfers.max(*most);
        }
        let mut alike: HashMap<Key, usize> = HashMap::new();
        for arrow in &round.arrows {
            let Arrow { source, destination, route, combined, .. } = arrow;
            let mut key = (*source, *destination, route.clone(), *combined, 0);
            let number = alike.entry(key.clone()).or_default();
            key.4 = *number;
            *number += 1;
            if let Some(&there) = index.get(&key) {
                let there = &mut frame.arrows[there];
                there.transfers += 1;
                there.volume = there.volume.max(arrow.volume);
            } else {
                index.insert(key, frame.arrows.len());
                frame.arrows.push(arrow.clone());
                self.load.arrow(arrow);
            }
        }
        self.load.frames = self.phases.len();
        self.load.check()
    }

    fn frames(self) -> Vec<Frame> {
        self.phases.into_values().map(|(frame, _)| frame).collect()
    }
}

/// Describes a part of the rounds.
fn part(first: usize, last: usize, all: usize) -> String {
    if first == last { format!("round {first} of {all}") } else { format!("rounds {first} to {last} of {all}") }
}

/// Keeps the arrows of the rank with the most arrows, and returns a note; or keeps all, if that
/// saves little.
fn busiest(frames: &mut Vec<Frame>) -> Option<(Rank, String)> {
    let mut count: BTreeMap<Rank, u64> = BTreeMap::new();
    for arrow in frames.iter().flat_map(|frame| &frame.arrows) {
        *count.entry(arrow.source).or_default() += arrow.transfers;
        *count.entry(arrow.destination).or_default() += arrow.transfers * u64::from(arrow.source != arrow.destination);
    }
    let all: u64 = frames.iter().map(|frame| frame.transfers).sum();
    // The first of several.
    let (&rank, &own) = count.iter().rev().max_by_key(|(_, own)| **own)?;
    if own > all / 2 {
        return None;
    }
    for frame in frames.iter_mut() {
        frame.of = Some(frame.transfers);
        frame.arrows.retain(|arrow| arrow.source == rank || arrow.destination == rank);
        frame.transfers = frame.arrows.iter().map(|arrow| arrow.transfers).sum();
        // The counts of shared channels stay.
        let used: HashSet<(usize, usize)> =
            frame.arrows.iter().flat_map(|arrow| arrow.route.windows(2)).map(|hop| (hop[0], hop[1])).collect();
        frame.shared.retain(|channel, _| used.contains(channel));
    }
    frames.retain(|frame| !frame.arrows.is_empty());
    let which = "too many to show; these are of";
    Some((rank, format!("{own} of {all} transfers, {which} rank {rank} (--focus chooses another)")))
}

/// Returns the channels that several arrows use.
fn shared(arrows: &[Arrow]) -> BTreeMap<(usize, usize), u32> {
    let mut used = BTreeMap::new();
    for hop in arrows.iter().flat_map(|arrow| arrow.route.windows(2)) {
        *used.entry((hop[0], hop[1])).or_default() += 1;
    }
    used.retain(|_, transfers| *transfers > 1);
    used
}
