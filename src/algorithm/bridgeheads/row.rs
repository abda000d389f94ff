//! The stages along one row, a ring or a line: concentration, circulation, spread.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), sections 4.1 and 4.2, with errata: logarithms and halves
//! are rounded to whole steps, arcs may differ by one node, and the last spread has a factor of its
//! own.

use smallvec::SmallVec;

/// A ring or a line of nodes, some of which are bridgeheads.
///
/// Bridgehead i of m is i n / m nodes after the first, rounded down. If they are equally spaced,
/// they are n / m nodes apart, rounded down, as many as there are from node 0 on: m, or more if
/// what is left over has room. In both cases bridgeheads stay bridgeheads when m is multiplied or
/// becomes n; if equally spaced, by a divisor of n / m.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) nodes: usize,
    /// Whether the last node is next to the first.
    pub(super) ring: bool,
    /// The place of bridgehead 0.
    pub(super) first: usize,
    /// Whether all bridgeheads are equally spaced, except the last and the first on a ring.
    pub(super) equal: bool,
    /// Whether each node sends one message and receives one at a time: on a ring, all go up but
    /// those of a concentration.
    pub(super) one_port: bool,
}

/// A node on the way up or down a row, and the number of nodes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Neighbour {
    place: usize,
    distance: usize,
}

/// The ways along a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    Up,
    Down,
}

impl Heading {
    pub(super) const BOTH: [Self; 2] = [Self::Up, Self::Down];

    const fn back(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// A run of steps along a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Each bridgehead collects the blocks of its arc.
    Concentrate { heads: usize },
    /// Each bridgehead gets the blocks of `sources` consecutive bridgeheads, including its own.
    Circulate { heads: usize, sources: usize },
    /// The bridgeheads, which hold equal blocks, pass them in parts to new bridgeheads between
    /// them.
    Spread { heads: usize, next: usize, steps: usize },
}

/// The content of a message along a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// The blocks of consecutive nodes, starting at a place.
    Nodes { from: usize, count: usize },
    /// The blocks that the bridgehead at a place held before the stage.
    Head(usize),
    /// One part of the blocks that every old bridgehead holds.
    Part { index: usize, of: usize },
}

/// A message along a row. The distance is that of a shortest route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) to: usize,
    pub(super) distance: usize,
    pub(super) load: Load,
}

/// Messages in consecutive steps: in order of the parts on the way up, and in reverse order on the
/// way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) to: usize,
    pub(super) distance: usize,
    /// The step of the first message.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The number of parts.
    pub(super) of: usize,
}

impl Row {
    fn at(self, place: usize, distance: usize, way: Heading) -> Option<usize> {
        match way {
            Heading::Up if self.ring => Some((place + distance) % self.nodes),
            Heading::Up => Some(place + distance).filter(|to| *to < self.nodes),
            Heading::Down if self.ring => Some((place + 2 * self.nodes - distance) % self.nodes),
            Heading::Down => place.checked_sub(distance),
        }
    }

    /// Returns the length of a shortest route between nodes at a distance along the row. Two
    /// bridgeheads of an odd ring are further apart on one side.
    pub(super) fn shortest(self, distance: usize) -> usize {
        if self.ring { distance.min(self.nodes - distance) } else { distance }
    }

    /// Returns the number of bridgeheads.
    pub(super) fn count(self, heads: usize) -> usize {
        if self.equal {
            let apart = self.nodes / heads;
            return (self.nodes - self.first % apart).div_ceil(apart);
        }
        heads
    }

    /// Returns the place of a bridgehead.
    fn head(self, index: usize, heads: usize) -> usize {
        if self.equal {
            let apart = self.nodes / heads;
            return self.first % apart + index * apart;
        }
        (self.first + index * self.nodes / heads) % self.nodes
    }

    /// Returns the index of the last bridgehead at a place or before, on the ring.
    fn index(self, place: usize, heads: usize) -> usize {
        if self.equal {
            let apart = self.nodes / heads;
            let after = place.checked_sub(self.first % apart);
            return after.map_or(self.count(heads) - 1, |after| after / apart);
        }
        let offset = (place + self.nodes - self.first) % self.nodes;
        // The largest i with i n / m < offset + 1.
        ((offset + 1) * heads).div_ceil(self.nodes) - 1
    }

    fn is_head(self, place: usize, heads: usize) -> bool {
        self.head(self.index(place, heads), heads) == place
    }

    /// Returns the nearest other bridgehead, or the node's own place once round the ring.
    fn next_head(self, place: usize, heads: usize, way: Heading) -> Option<Neighbour> {
        let (index, count) = (self.index(place, heads), self.count(heads));
        let to = match way {
            Heading::Up => self.head((index + 1) % count, heads),
            Heading::Down if self.is_head(place, heads) => self.head((index + count - 1) % count, heads),
            Heading::Down => self.head(index, heads),
        };
        let distance = match way {
            Heading::Up => (to + self.nodes - place - 1) % self.nodes + 1,
            Heading::Down => (place + self.nodes - to - 1) % self.nodes + 1,
        };
        self.at(place, distance, way).map(|place| Neighbour { place, distance })
    }

    /// Returns the number of bridgeheads below a bridgehead of a line.
    fn ordinal(self, place: usize, heads: usize) -> usize {
        let (lowest, count) = (self.index(self.nodes - 1, heads) + 1, self.count(heads));
        (self.index(place, heads) + count - lowest % count) % count
    }

    /// Returns how many nodes of a bridgehead's arc lie below it and above it.
    pub(super) fn arc(self, place: usize, heads: usize) -> (usize, usize) {
        let gap = |way| self.next_head(place, heads, way).map(|next| next.distance);
        if self.one_port {
            return (0, gap(Heading::Up).map_or(0, |gap| gap - 1));
        }
        // Routes go up half a ring, so the node opposite the only bridgehead lies below it.
        (
            gap(Heading::Down).map_or(place, |gap| gap / 2),
            gap(Heading::Up).map_or(self.nodes - 1 - place, |gap| (gap - 1) / 2),
        )
    }

    /// Returns the bridgehead whose arc contains a node.
    fn head_of(self, place: usize, heads: usize) -> usize {
        if self.one_port || self.is_head(place, heads) {
            return self.head(self.index(place, heads), heads);
        }
        let [up, down] = Heading::BOTH.map(|way| self.next_head(place, heads, way));
        match (up, down) {
            (Some(up), Some(down)) if up.distance <= (up.distance + down.distance) / 2 => up.place,
            (Some(up), None) => up.place,
            (_, Some(down)) => down.place,
            (None, None) => place,
        }
    }

    /// Returns the number of steps of a stage.
    pub(super) fn steps(self, stage: Stage) -> usize {
        let heads = |heads: usize| (0..self.count(heads)).map(move |index| self.head(index, heads));
        match stage {
            Stage::Concentrate { heads: count } => {
                heads(count).map(|head| self.steps_to_collect(head, count)).max().unwrap_or(0)
            }
            Stage::Circulate { heads: count, sources } => {
                let most = heads(count)
                    .flat_map(|head| Heading::BOTH.map(|way| self.sources(head, count, sources, way)))
                    .max();
                most.unwrap_or(0)
            }
            Stage::Spread { heads: count, next, steps } => {
                if self.ring {
                    return steps;
                }
                // Beyond the last bridgeheads of a line, parts come from one side.
                let last = self.index(self.nodes - 1, count);
                let up = self.beyond(self.head(last, count), next, Heading::Up);
                let first = (last + 1) % self.count(count);
                let down = self.beyond(self.head(first, count), next, Heading::Down);
                let parts = self.parts(count, next, steps);
                steps.max(Some(up.max(down)).filter(|new| *new > 0).map_or(0, |new| new + parts - 1))
            }
        }
    }

    /// Returns the number of steps in which a bridgehead collects the blocks of its arc.
    fn steps_to_collect(self, head: usize, heads: usize) -> usize {
        let (below, above) = self.arc(head, heads);
        let reach = if self.one_port { |steps| (1_usize << steps) - 1 } else { reach };
        (0..).find(|&steps| reach(steps) >= below.max(above)).unwrap_or(0)
    }

    /// Returns the number of bridgeheads of a line beyond a node.
    fn beyond(self, place: usize, heads: usize, way: Heading) -> usize {
        let ordinal = self.ordinal(place, heads);
        match way {
            Heading::Up => self.count(heads) - 1 - ordinal,
            Heading::Down => ordinal,
        }
    }

    /// Returns how many of the bridgeheads that a bridgehead hears from lie in a direction.
    fn sources(self, place: usize, heads: usize, sources: usize, way: Heading) -> usize {
        let sources = sources.min(self.count(heads));
        let below = if self.one_port {
            sources - 1
        } else if self.ring && self.goes_round(heads, sources) {
            sources / 2
        } else {
            let [above, below] = Heading::BOTH.map(|way| self.beyond(place, heads, way));
            (sources / 2).max((sources - 1).saturating_sub(above)).min(below)
        };
        match way {
            Heading::Down => below,
            Heading::Up => sources - 1 - below,
        }
    }

    /// Returns whether each run of `sources` consecutive bridgeheads, also past the end of the row,
    /// has all blocks: those of equally spaced bridgeheads repeat from the first one on.
    fn goes_round(self, heads: usize, sources: usize) -> bool {
        let all = self.count(heads);
        !self.equal || sources == all || self.nodes.is_multiple_of(self.nodes / heads * sources)
    }

    /// Returns what a node sends in a way in a step of a stage, counted from 0.
    pub(super) fn send(self, stage: Stage, step: usize, place: usize, way: Heading) -> Option<Message> {
        match stage {
            Stage::Concentrate { heads } => self.concentrate(heads, step, place, way),
            Stage::Circulate { heads, sources } => {
                let to = Some(place)
                    .filter(|&place| self.is_head(place, heads))
                    .and_then(|_| self.next_head(place, heads, way))?;
                let hears = self.sources(to.place, heads, sources, way.back());
                let (index, count) = (self.index(place, heads), self.count(heads));
                let source = match way {
                    Heading::Up => index + count - step % count,
                    Heading::Down => index + step,
                };
                let source = self.head(source % count, heads);
                (hears > step).then_some(Message {
                    to: to.place,
                    distance: self.shortest(to.distance),
                    load: Load::Head(source),
                })
            }
            Stage::Spread { heads, next, steps } => {
                let run = self.spread(heads, next, steps, place, way)?;
                let number = step.checked_sub(run.first)?;
                let index = if way == Heading::Up { number } else { run.of.checked_sub(number + 1)? };
                let load = Load::Part { index, of: run.of };
                (number < run.count).then_some(Message { to: run.to, distance: run.distance, load })
            }
        }
    }

    /// Returns the messages that a node sends in a way in the steps of a spread.
    pub(super) fn spread(self, heads: usize, next: usize, steps: usize, place: usize, way: Heading) -> Option<Run> {
        let to =
            Some(place).filter(|&place| self.is_head(place, next)).and_then(|_| self.next_head(place, next, way))?;
        if self.is_head(to.place, heads) {
            return None;
        }
        let old = self.is_head(place, heads);
        let first = if old { 0 } else { self.between(place, heads, next, way.back())? };
        let count = self.gets(to.place, heads, next, steps, way.back());
        let run = || Run {
            to: to.place,
            distance: self.shortest(to.distance),
            first,
            count,
            of: self.parts(heads, next, steps),
        };
        (count > 0).then(run)
    }

    /// Returns the nodes, from a place on, whose blocks a node has collected for a bridgehead.
    pub(super) fn collected(self, place: usize, heads: usize) -> (usize, usize) {
        let steps = self.steps_to_collect(self.head_of(place, heads), heads);
        let sent = (0..steps).flat_map(|step| Heading::BOTH.map(|way| self.concentrate(heads, step, place, way)));
        let group = sent.flatten().find_map(|message| match message.load {
            Load::Nodes { from, count } => Some((from, count)),
            Load::Head(_) | Load::Part { .. } => None,
        });
        group.unwrap_or((place, 1))
    }

    /// Returns the nodes that may send to a node in a step of a stage, in a way.
    pub(super) fn senders(self, stage: Stage, step: usize, place: usize, way: Heading) -> SmallVec<[usize; 3]> {
        let heads = match stage {
            Stage::Concentrate { heads } => {
                let (head, arc) = self.arc_of(place, heads);
                if self.one_port {
                    let above = self.offset(place, head, arc) + (1 << step);
                    return (above <= arc.above).then(|| self.at_offset(head, above)).into_iter().collect();
                }
                let thirds = arc.thirds(self.offset(place, head, arc), step);
                return thirds.map(|offset| self.at_offset(head, offset)).collect();
            }
            Stage::Circulate { heads, .. } => heads,
            Stage::Spread { next, .. } => next,
        };
        self.next_head(place, heads, way.back()).map(|next| next.place).into_iter().collect()
    }

    /// Returns the number of parts in which bridgeheads pass what they have.
    pub(super) fn parts(self, heads: usize, next: usize, steps: usize) -> usize {
        let from_each_side = if self.one_port { steps } else { 2 * steps };
        from_each_side + 2 - self.growth(heads, next)
    }

    /// Returns the number of steps between bridgeheads of the next level from an old one to another,
    /// at most.
    pub(super) fn growth(self, heads: usize, next: usize) -> usize {
        if !self.equal {
            return factor(heads, next, self.nodes);
        }
        let inside = self.nodes / heads / (self.nodes / next);
        if !self.ring {
            return inside;
        }
        let [first, last] = [0, self.count(heads) - 1].map(|old| self.index(self.head(old, heads), next));
        inside.max(first + self.count(next) - last)
    }

    /// Returns the number of parts in which a stage cuts what bridgeheads have.
    pub(super) fn parts_of(self, stage: Stage) -> Option<usize> {
        match stage {
            Stage::Spread { heads, next, steps } => Some(self.parts(heads, next, steps)),
            Stage::Concentrate { .. } | Stage::Circulate { .. } => None,
        }
    }

    /// Returns the number of steps between the bridgeheads of the next level from a new one to an
    /// old one.
    fn between(self, place: usize, heads: usize, next: usize, way: Heading) -> Option<usize> {
        let old = self.next_head(place, heads, way)?.place;
        let [at, old] = [place, old].map(|place| self.index(place, next));
        let count = self.count(next);
        Some(match way {
            Heading::Up => (old + count - at - 1) % count + 1,
            Heading::Down => (at + count - old - 1) % count + 1,
        })
    }

    /// Returns how many parts a new bridgehead gets from the old one in a way.
    fn gets(self, place: usize, heads: usize, next: usize, steps: usize, way: Heading) -> usize {
        let all = self.parts(heads, next, steps);
        let [up, down] = Heading::BOTH.map(|way| self.between(place, heads, next, way));
        let from_below = match (up, down) {
            _ if self.one_port => all,
            // A part takes a step from one bridgehead to the next: these arrive in time.
            (Some(_), Some(below)) => (steps + 1).saturating_sub(below).min(all),
            (None, Some(_)) => all,
            _ => 0,
        };
        match way {
            Heading::Down => from_below,
            Heading::Up => all - from_below,
        }
    }

    /// Returns the bridgehead of a node, and its arc.
    fn arc_of(self, place: usize, heads: usize) -> (usize, Arc) {
        let head = self.head_of(place, heads);
        let (below, above) = self.arc(head, heads);
        (head, Arc { below: below as i64, above: above as i64 })
    }

    /// Returns the offset of a node of an arc from the bridgehead.
    fn offset(self, place: usize, head: usize, arc: Arc) -> i64 {
        let up = ((place + self.nodes - head) % self.nodes) as i64;
        if up <= arc.above && (self.ring || place >= head) { up } else { up - self.nodes as i64 }
    }

    fn at_offset(self, head: usize, offset: i64) -> usize {
        (head as i64 + offset).rem_euclid(self.nodes as i64) as usize
    }

    fn concentrate(self, heads: usize, step: usize, place: usize, way: Heading) -> Option<Message> {
        let (head, arc) = self.arc_of(place, heads);
        let offset = self.offset(place, head, arc);
        let (to, (low, high)) = if self.one_port { arc.send_down(offset, step) } else { arc.send(offset, step) }?;
        let goes = if to > offset { Heading::Up } else { Heading::Down };
        let load = Load::Nodes { from: self.at_offset(head, low), count: (high - low + 1) as usize };
        let distance = self.shortest(offset.abs_diff(to) as usize);
        (goes == way).then_some(Message { to: self.at_offset(head, to), distance, load })
    }
}

/// Returns how far from its centre a concentration of a number of steps collects: each step triples
/// the nodes.
pub(super) fn reach(steps: usize) -> usize {
    3_usize.checked_pow(steps as u32).map_or(usize::MAX, |nodes| (nodes - 1) / 2)
}

/// Returns by how much the number of bridgeheads grows, at least in some gap.
pub(super) fn factor(heads: usize, next: usize, nodes: usize) -> usize {
    if next == nodes { nodes.div_ceil(heads) } else { next / heads }
}

/// The nodes around a bridgehead, by their offsets from it.
#[derive(Clone, Copy, Debug)]
struct Arc {
    below: i64,
    above: i64,
}

impl Arc {
    /// Returns the offsets of a group of 3^level nodes around a centre.
    fn group(self, centre: i64, level: u32) -> Option<(i64, i64)> {
        let reach = reach(level as usize) as i64;
        let (low, high) = ((centre - reach).max(-self.below), (centre + reach).min(self.above));
        (low <= high).then_some((low, high))
    }

    /// Returns the node where a group is concentrated: the head of its middle third, or, if the arc
    /// ends before its outer third, that of the inner one, which is nearer to all: no two nodes of
    /// the tree are half a ring apart, where routes go up in both directions.
    fn head(self, centre: i64, level: u32) -> Option<i64> {
        self.group(centre, level)?;
        let Some(below) = level.checked_sub(1) else { return Some(centre) };
        let third = 3_i64.pow(below);
        let outwards = third * centre.signum();
        let whole = centre == 0 || self.group(centre + outwards, below).is_some();
        self.head(if whole { centre } else { centre - outwards }, below)
    }

    /// Returns the nodes where the thirds of a node's group of this step are concentrated, but
    /// itself.
    fn thirds(self, offset: i64, step: usize) -> impl Iterator<Item = i64> {
        let (third, whole) = (3_i64.pow(step as u32), 3_i64.pow(step as u32 + 1));
        let centre = (offset + whole / 2).div_euclid(whole) * whole;
        let heads = [-third, 0, third].into_iter().filter_map(move |by| self.head(centre + by, step as u32));
        heads.filter(move |head| *head != offset)
    }

    /// Returns where a node sends in a step if it may receive one message only, and the group that
    /// it speaks for. Each step doubles the nodes.
    fn send_down(self, offset: i64, step: usize) -> Option<(i64, (i64, i64))> {
        let half = 1_i64.checked_shl(step as u32)?;
        let is_sender = offset % half == 0 && offset / half % 2 == 1;
        is_sender.then(|| (offset - half, (offset, (offset + half - 1).min(self.above))))
    }

    /// Returns where a node sends in a step, and the group that it speaks for.
    fn send(self, offset: i64, step: usize) -> Option<(i64, (i64, i64))> {
        let level = step as u32;
        let (third, whole) = (3_i64.checked_pow(level)?, 3_i64.checked_pow(level + 1)?);
        // The nearest centres of a group of this step's thirds, and of a whole.
        let centre = |width: i64| (offset + width / 2).div_euclid(width) * width;
        let (mine, all) = (centre(third), centre(whole));
        let to = self.head(all, level + 1)?;
        (self.head(mine, level) == Some(offset) && to != offset).then_some(())?;
        Some((to, self.group(mine, level)?))
    }
}
