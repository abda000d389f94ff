//! Which rounds a picture shows, in which frame, and what is in each.

use std::collections::{BTreeMap, HashMap};

use super::{DrawError, Frames, MAX_ARROWS, MAX_FRAMES, MAX_HOPS, View};
use crate::ids::{Node, Rank};
use crate::schedule::traffic::volume;
use crate::schedule::{Combine, Problem, Round, Route, Transfer, Volume};

/// How many rounds are drawn where nobody said.
const AUTO_ROUNDS: usize = 12;
/// How many of them where there are more and phases do not do.
const AUTO_FIRST: usize = 6;

/// A round, or a phase.
#[derive(Clone, Default)]
pub(super) struct Frame {
    /// The first and the last round, and how many there are.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) rounds: usize,
    pub(super) phase: usize,
    pub(super) arrows: Vec<Arrow>,
    pub(super) transfers: u64,
    /// Channels that several transfers of one round use, and how many do at most.
    pub(super) shared: BTreeMap<(usize, usize), u32>,
}

impl Frame {
    pub(super) fn sizes(&self) -> Sizes {
        Sizes::of(std::slice::from_ref(self))
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

/// A transfer; in a phase, all those that are alike but for what they carry.
#[derive(Clone)]
pub(super) struct Arrow {
    pub(super) source: Rank,
    pub(super) destination: Rank,
    pub(super) route: Vec<usize>,
    pub(super) combined: bool,
    /// The largest.
    pub(super) volume: Volume,
    pub(super) transfers: u64,
}

impl Arrow {
    pub(super) fn hops(&self) -> usize {
        self.route.len().saturating_sub(1)
    }
}

/// What makes transfers of several rounds one arrow: ends, way, combination, and which of several alike in its round.
type Key = (Rank, Rank, Vec<usize>, bool, usize);

/// A phase's frame so far.
struct Phase {
    frame: Frame,
    /// Which of its arrows it is.
    index: HashMap<Key, usize>,
}

/// Takes rounds one by one and keeps what is to be drawn.
pub(super) struct Collector {
    problem: Problem,
    nodes: usize,
    view: View,
    /// Rounds so far.
    number: usize,
    /// Those of them in which anything is drawn.
    busy: usize,
    /// A frame a round, as long as they are few enough.
    rounds: Vec<Frame>,
    /// A frame a phase, as long as there are few enough arrows.
    phases: Option<BTreeMap<usize, Phase>>,
    arrows: usize,
    hops: usize,
}

impl Collector {
    pub(super) fn new(problem: &Problem, view: &View) -> Result<Self, DrawError> {
        let ranks = problem.ranks();
        if let Some(rank) = view.focus.filter(|rank| rank.index() >= ranks) {
            return Err(DrawError::Rank { rank, ranks });
        }
        if let Frames::Range(range) = &view.frames
            && range.len() > MAX_FRAMES
        {
            return Err(DrawError::Large { what: "frames", found: range.len(), limit: MAX_FRAMES });
        }
        let phases = matches!(view.frames, Frames::Auto | Frames::Phases).then(BTreeMap::new);
        let nodes = problem.topology().nodes();
        let (problem, view) = (problem.clone(), view.clone());
        Ok(Self { problem, nodes, view, number: 0, busy: 0, rounds: Vec::new(), phases, arrows: 0, hops: 0 })
    }

    pub(super) fn round(&mut self, round: &Round) -> Result<(), DrawError> {
        let number = self.number;
        self.number += 1;
        let (seen, empty_too) = match &self.view.frames {
            Frames::Range(range) => (range.contains(&number), true),
            Frames::Auto => (self.rounds.len() < AUTO_ROUNDS || self.phases.is_some(), false),
            Frames::Rounds | Frames::Phases => (true, false),
        };
        let focus = self.view.focus;
        let drawn = |t: &&Transfer| focus.is_none_or(|rank| t.source == rank || t.destination == rank);
        self.busy += usize::from(round.transfers.iter().any(|transfer| drawn(&transfer)));
        if !seen || (!empty_too && !round.transfers.iter().any(|transfer| drawn(&transfer))) {
            return Ok(());
        }
        let mut frame = Frame { first: number, last: number, rounds: 1, phase: round.phase, ..Frame::default() };
        for transfer in round.transfers.iter().filter(drawn) {
            if frame.arrows.len() == MAX_ARROWS {
                return Err(self.too_many_arrows(round.transfers.iter().filter(drawn).count()));
            }
            let route = self.route(number, transfer)?;
            self.hops = self.hops.saturating_add(route.len());
            if self.hops > MAX_HOPS {
                return Err(DrawError::Large { what: "hops of arrows", found: self.hops, limit: MAX_HOPS });
            }
            let Transfer { source, destination, blocks, combine, .. } = transfer;
            let combined = *combine != Combine::Replace;
            let volume = volume(blocks);
            let (source, destination) = (*source, *destination);
            frame.arrows.push(Arrow { source, destination, route, combined, volume, transfers: 1 });
        }
        frame.transfers = frame.arrows.len() as u64;
        frame.shared = shared(&frame.arrows);
        self.phase(&frame)?;
        self.keep(frame)
    }

    /// The frames to draw, and in words what they leave out.
    pub(super) fn finish(self) -> Result<(Vec<Frame>, Option<String>), DrawError> {
        let Self { view, number, busy, mut rounds, phases, .. } = self;
        if let Frames::Range(range) = &view.frames
            && (range.is_empty() || range.end > number)
        {
            return Err(DrawError::Range { range: range.clone(), rounds: number });
        }
        let phases = phases.map(|phases| phases.into_values().map(|phase| phase.frame).collect::<Vec<_>>());
        let mut note = None;
        let frames = match (&view.frames, phases) {
            (Frames::Phases, Some(phases)) => phases,
            (Frames::Auto, phases) if rounds.len() < busy => {
                // A phase is worth a frame where its rounds are much the same.
                let plain = |frame: &Frame| frame.arrows.len() <= 4 * self.nodes;
                match phases.filter(|phases| phases.len() <= AUTO_ROUNDS && phases.iter().all(plain)) {
                    Some(phases) => phases,
                    None => {
                        rounds.truncate(AUTO_FIRST);
                        let last = rounds.last().map_or(0, |frame| frame.last);
                        note = Some(format!("rounds 0 to {last} of {number}"));
                        rounds
                    }
                }
            }
            _ => rounds,
        };
        Ok((if frames.is_empty() { vec![Frame::default()] } else { frames }, note))
    }

    /// Keeps a round as a frame of its own, if it is to have one.
    fn keep(&mut self, frame: Frame) -> Result<(), DrawError> {
        let arrows = self.arrows + frame.arrows.len();
        match self.view.frames {
            Frames::Phases => return Ok(()),
            Frames::Auto if self.rounds.len() == AUTO_ROUNDS => return Ok(()),
            Frames::Auto if arrows > MAX_ARROWS => {
                // Later ones are not to follow where one is missing.
                self.arrows = MAX_ARROWS;
                return Ok(());
            }
            _ => {}
        }
        if arrows > MAX_ARROWS {
            return Err(self.too_many_arrows(arrows));
        }
        if self.rounds.len() == MAX_FRAMES {
            return Err(DrawError::Large { what: "frames", found: MAX_FRAMES + 1, limit: MAX_FRAMES });
        }
        self.arrows = arrows;
        self.rounds.push(frame);
        Ok(())
    }

    /// Adds a round to its phase.
    fn phase(&mut self, round: &Frame) -> Result<(), DrawError> {
        let Some(phases) = &mut self.phases else { return Ok(()) };
        let fresh = || Phase {
            frame: Frame { rounds: 0, arrows: Vec::new(), transfers: 0, ..round.clone() },
            index: HashMap::new(),
        };
        let Phase { frame, index } = phases.entry(round.phase).or_insert_with(fresh);
        (frame.last, frame.rounds) = (round.last, frame.rounds + 1);
        frame.transfers += round.transfers;
        for (&channel, &transfers) in &round.shared {
            let most = frame.shared.entry(channel).or_default();
            *most = transfers.max(*most);
        }
        let mut alike: HashMap<_, usize> = HashMap::new();
        for arrow in &round.arrows {
            let ends = (arrow.source, arrow.destination, arrow.route.clone(), arrow.combined);
            let number = alike.entry(ends.clone()).or_default();
            *number += 1;
            match index.entry((ends.0, ends.1, ends.2, ends.3, *number)) {
                std::collections::hash_map::Entry::Occupied(there) => {
                    let there = &mut frame.arrows[*there.get()];
                    there.transfers += 1;
                    there.volume = there.volume.max(arrow.volume);
                }
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(frame.arrows.len());
                    frame.arrows.push(arrow.clone());
                }
            }
        }
        let arrows: usize = phases.values().map(|phase| phase.frame.arrows.len()).sum();
        let frames = phases.len();
        if arrows <= MAX_ARROWS && frames <= MAX_FRAMES {
            return Ok(());
        }
        self.phases = None;
        match self.view.frames {
            Frames::Auto => Ok(()),
            _ if frames > MAX_FRAMES => Err(DrawError::Large { what: "frames", found: frames, limit: MAX_FRAMES }),
            _ => Err(self.too_many_arrows(arrows)),
        }
    }

    fn too_many_arrows(&self, found: usize) -> DrawError {
        DrawError::Large { what: "arrows", found, limit: MAX_ARROWS }
    }

    /// The nodes that a transfer goes through.
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

/// Channels that several arrows use.
fn shared(arrows: &[Arrow]) -> BTreeMap<(usize, usize), u32> {
    let mut used = BTreeMap::new();
    for hop in arrows.iter().flat_map(|arrow| arrow.route.windows(2)) {
        *used.entry((hop[0], hop[1])).or_default() += 1;
    }
    used.retain(|_, transfers| *transfers > 1);
    used
}
