//! `necklace plan`: builds a schedule, verifies it, and prints its cost.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use necklace::MAX_NODES;
use necklace::Rank;
use necklace::algorithm::Claims;
use necklace::bounds::Bounds;
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::error::BuildError;
use necklace::load_machine;
use necklace::machine::Machine;
use necklace::schedule::{
    JsonWriter, Outline, Ports, Problem, Proof, Sample, SampleError, Shares, Verifier, Violations, can_be_sampled,
    verify_sample,
};
use necklace::select::{Choice, Terms, select};
use necklace::topology::{Measures, Topology};

use crate::options::size;
use crate::output::{Document, Failure, apart, is_standard, print, write_failure};
use crate::picture::{self, Picture, Wanted};
use crate::problem::{self, on_hosts, problem};
use crate::progress::Progress;
use crate::{figures, list, memory};

const EXAMPLES: &str = "
Examples:
  necklace plan --list --topology torus:12x12
  necklace plan --topology torus:12x12 --collective alltoall --algorithm torus-exchange
  necklace plan --topology hypercube:6 --collective broadcast --root 5 --bytes 65536
  necklace plan --topology torus:8x8 --collective alltoall --machine paragon --bytes 64
  necklace plan --topology ghc:4,2 --collective alltoall --ports all
  necklace plan --topology torus:4x4@how:16,3,1 --collective alltoall --algorithm torus-exchange
  necklace plan --topology complete:16 --collective allreduce --hosts-of 4 --algorithm two-level
  necklace plan --topology ring:7 --collective allreduce --json schedule.json
  necklace plan --topology torus:8x8 --collective alltoall --json - | python3 my_checker.py
  necklace plan --topology complete:5000 --collective alltoall --algorithm direct --verify-sample 8
";

const STATUS: &str = "
Exit status: 0 on success; 1 if the schedule is wrong or contradicts the claims of its algorithm; 2 if the
command line is wrong or asks for the impossible, such as an algorithm that does not fit the network.";

pub(crate) fn after_help() -> String {
    let topologies = format!("Topologies: {}\n", necklace::topology::syntax());
    [&topologies, EXAMPLES, picture::EXAMPLES, STATUS].concat()
}

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Use network T, such as torus:4x4; rank i sits on node i
    #[arg(long, value_name = "T", required_unless_present = "list")]
    topology: Option<String>,

    #[arg(long, value_name = "C", required_unless_present = "list", value_parser = problem::collective,
          help = problem::help("Build a schedule of collective"))]
    collective: Option<Collective>,

    /// Use algorithm A: a name from --list, with parameters as NAME:KEY=VALUE,.., or auto for the
    /// cheapest that fits
    ///
    /// auto compares prices by formula. If an algorithm has no formula for a demand that the
    /// machine charges for, its price is only a lower bound, which auto counts twice, and the
    /// output says so.
    #[arg(long, value_name = "A", default_value = "auto")]
    algorithm: String,

    /// Set the root of a rooted collective [default: 0]
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(..MAX_NODES as i64))]
    root: Option<u32>,

    /// Combine the contributions of a reduction in any order, for an operation that commutes
    /// [default: in rank order]
    #[arg(long)]
    commutative: bool,

    /// Put N consecutive ranks on each host, for the two-level algorithms [default: unknown hosts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    hosts_of: Option<u32>,

    /// Keep to port model P: one, one-send, same-value, all or unlimited [default: the algorithm's]
    ///
    /// A port model limits the transfers of a rank in one round: one (one send and one receive),
    /// one-send (one send, any number of receives), same-value (sends of the same blocks over
    /// distinct channels, any number of receives), all (one transfer per channel), unlimited. auto
    /// chooses among the algorithms that guarantee the model, and a named algorithm must guarantee
    /// it. The schedule is verified and exported under this model.
    #[arg(long, value_name = "P", value_parser = ports)]
    ports: Option<Ports>,

    /// Set the size of a block in bytes, for prices and auto; suffixes K, M and G stand for powers
    /// of 1024 [default: 1024]
    #[arg(long, value_name = "B", allow_negative_numbers = true, value_parser = size)]
    bytes: Option<u64>,

    /// Use the prices of machine M, also for auto: NAME, NAME:key=price,.. or a JSON file
    /// (`necklace cost --help` describes them)
    #[arg(long, value_name = "M", default_value = "threads", value_parser = load_machine)]
    machine: Machine,

    /// Write the schedule as JSON to FILE; with -, write only that to standard output
    ///
    /// The file appears only when the schedule is verified and the document is complete. Standard
    /// output receives the rounds as they are built; the exit status tells whether they are correct.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,

    /// Verify with at most B bytes of memory; suffixes K, M and G stand for powers of 1024
    /// [default: the available memory]
    ///
    /// The command estimates the memory for the verification in advance, and refuses a schedule
    /// that needs more. The available memory is the smallest of the system's free memory, the free
    /// part of the control group's limit, and the limits of the process.
    #[arg(long, value_name = "B", allow_negative_numbers = true, value_parser = size)]
    memory: Option<u64>,

    /// Verify only the shares of N ranks, for a schedule that is too large to verify as a whole
    ///
    /// The ranks are spread evenly. Each of them must hold the blocks that it sends, agree with its
    /// peers about every message, keep to the port model, and end with the blocks that the
    /// collective defines. Other ranks are assumed to hold the blocks that they send. Contention is
    /// checked only among the messages of these ranks. The printed figures are those of the
    /// formulas. Reductions (allreduce, scan, ..) cannot be verified in part, because only the
    /// whole schedule tells which contributions a block contains. Takes the time to make the rounds
    /// of these ranks and of all their peers.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["json", "svg"])]
    verify_sample: Option<u32>,

    #[command(flatten)]
    picture: Wanted,

    /// List the algorithms and their claims (formulas); with --topology, whether they fit that
    /// network
    #[arg(long, conflicts_with_all = ["algorithm", "ports", "bytes", "machine", "json", "memory", "verify_sample"])]
    list: bool,
}

/// Default block size in bytes.
const BLOCK_BYTES: u64 = 1024;

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let topology = arguments.topology.as_deref().map(necklace::load).transpose().map_err(BuildError::from)?;
    let (false, Some(topology), Some(collective)) = (arguments.list, &topology, &arguments.collective) else {
        let root = Rank::new(arguments.root.unwrap_or_default() as usize);
        return print(&list::text(
            arguments.collective.as_ref(),
            topology.as_ref(),
            root,
            arguments.commutative,
            arguments.hosts_of,
        )?);
    };
    let collective = problem::rooted(collective, arguments.root)?;
    let problem = on_hosts(problem(Arc::clone(topology), collective, arguments.commutative)?, arguments.hosts_of)?;
    let (machine, block_bytes) = (arguments.machine, arguments.bytes.unwrap_or(BLOCK_BYTES));
    let terms = Terms::new(block_bytes, &machine).keeping(arguments.ports.unwrap_or(Ports::Unlimited));
    let choice =
        select(&problem, &arguments.algorithm, &terms).map_err(|error| problem::failure(error, &problem, &terms))?;
    if let Some(ranks) = arguments.verify_sample {
        return sample(&choice, &problem, ranks as usize, arguments.memory);
    }
    let json_alone = arguments.json.as_deref().is_some_and(is_standard);
    apart(&[("--json", arguments.json.as_deref()), ("--svg", arguments.picture.path())])?;
    let alone = json_alone || arguments.picture.is_standard();
    let Made { outline, phases, outcome } = make(&choice, &problem, arguments)?;

    let heading = heading(&outline);
    let proof = outcome.map_err(|violations| {
        let told = if alone { Ok(()) } else { print(&format!("{heading}\n{}", figures::listed(&violations))) };
        told.err().unwrap_or_else(|| Failure::Failed(format!("{heading}: {}", figures::in_short(&violations))))
    })?;
    let claims = choice.algorithm.claims(&problem);
    if !alone {
        let about = choice.algorithm.about();
        let bounds = Bounds::of(&problem);
        let costs = figures::side_by_side(&proof, &claims, &bounds, choice.algorithm.ports(&problem), arguments.bytes);
        let price = Demand::counted(&proof, &problem).price(&machine, block_bytes);
        let how = if choice.named { String::new() } else { format!("{choice}\n\n") };
        let kept = arguments.ports.map_or(String::new(), |ports| format!("verified to keep to ports {ports}\n"));
        print(&format!(
            "{heading}\n{} ({})\n{}\n{how}{}\n{costs}{kept}{}\nprice of blocks of {block_bytes} bytes on {machine}: {price}\n",
            about.summary,
            about.source,
            embedding(&problem),
            described(&outline, &phases),
            figures::bounded(&bounds),
        ))?;
    }
    kept(&heading, &proof, &claims)
}

/// Returns the heading of a schedule, such as `alltoall on torus:12x12, 144 ranks: torus-exchange`.
pub(crate) fn heading(outline: &Outline) -> String {
    let Outline { problem, algorithm, .. } = outline;
    let (ranks, topology) = (problem.ranks(), problem.topology().text());
    let plural = if ranks == 1 { "" } else { "s" };
    let text = format!("{} on {topology}, {ranks} rank{plural}: {algorithm}", problem.collective());
    // Names may come from a document.
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Returns a line on the embedding of the guest of an embedded network, with the lower bounds of
/// all embeddings.
fn embedding(problem: &Problem) -> String {
    let Some(embedding) = problem.topology().embedding() else { return String::new() };
    let (guest, host) = (embedding.guest(), embedding.host());
    let (dilation, congestion) = Measures::at_least(guest, host);
    format!(
        "{} is embedded in {}: {} (any embedding: dilation at least {dilation}, congestion at least {congestion})\n",
        guest.text(),
        host.text(),
        embedding.measures()
    )
}

fn ports(text: &str) -> Result<Ports, String> {
    let names = || Ports::all().map(Ports::name).collect::<Vec<_>>().join(", ");
    Ports::named(text).ok_or_else(|| format!("expected one of {}", names()))
}

struct Made {
    outline: Outline,
    phases: Vec<Phase>,
    outcome: Result<Proof, Violations>,
}

/// The size of a phase.
#[derive(Clone, Default)]
struct Phase {
    rounds: u64,
    transfers: u64,
}

/// Builds the rounds one by one. Verifies, writes and draws each round, then drops it.
fn make(choice: &Choice, problem: &Problem, arguments: &Arguments) -> Result<Made, Failure> {
    let mut outline = choice.algorithm.outline(problem)?;
    outline.ports = arguments.ports.unwrap_or(outline.ports);
    memory::suffices(&*choice.algorithm, problem, None, arguments.memory, |limit| {
        let or = if one_fits(choice, problem, limit) { ", or verify a part with --verify-sample N" } else { "" };
        format!("allow more with --memory{or}")
    })?;
    let mut phases = vec![Phase::default(); outline.phases.len()];
    let mut verifier = Verifier::with_limit(&outline, u64::MAX);
    let mut picture = arguments.picture.start(&outline)?;
    let document = arguments.json.as_deref().map(Document::create).transpose()?;
    let shares = choice.algorithm.as_ref().shares(problem)?;
    let name = document.as_ref().map_or(String::new(), |document| document.name().to_owned());
    let failed = |error| write_failure(&name, &error);
    let mut writer = document.map(|document| JsonWriter::new(&outline, document)).transpose().map_err(failed)?;
    let mut progress = Progress::new("verifying the schedule", "rounds").of(rounds(&shares));
    for joined in shares {
        for mismatch in joined.mismatches {
            verifier.mismatch(mismatch);
        }
        let round = joined.round;
        verifier.round(&round);
        if let Some(writer) = &mut writer {
            writer.round(&round).map_err(failed)?;
        }
        if let Some(picture) = &mut picture {
            picture.round(&round)?;
        }
        if let Some(phase) = phases.get_mut(round.phase) {
            phase.rounds += 1;
            phase.transfers += round.transfers.len() as u64;
        }
        progress.step();
    }
    let outcome = verifier.finish();
    drop(progress);
    let document = writer.map(JsonWriter::finish).transpose().map_err(failed)?;
    if outcome.is_ok() {
        // The picture fails here if the requested frames do not exist.
        picture.map_or(Ok(()), Picture::keep)?;
        document.map_or(Ok(()), Document::keep)?;
    }
    Ok(Made { outline, phases, outcome })
}

/// Verifies the shares of some ranks.
fn sample(choice: &Choice, problem: &Problem, ranks: usize, memory: Option<u64>) -> Result<(), Failure> {
    let outline = choice.algorithm.outline(problem)?;
    let heading = heading(&outline);
    let size = problem.ranks();
    let ranks = ranks.min(size);
    if can_be_sampled(problem.collective()) {
        memory::suffices(&*choice.algorithm, problem, Some(ranks), memory, |limit| {
            let or = if one_fits(choice, problem, limit) { ", or verify fewer ranks" } else { "" };
            format!("allow more with --memory{or}")
        })?;
    }
    let mut progress = Progress::new("checking some ranks", "rounds");
    let some = (0..ranks).map(|i| Rank::new((i as u64 * size as u64 / ranks as u64) as usize));
    let checked = verify_sample(&*choice.algorithm, problem, some, |_| progress.step());
    drop(progress);
    let Sample { of, rounds, messages, blocks, .. } = checked.map_err(|error| match error {
        SampleError::Build(error) => error.into(),
        SampleError::Violated(violations) => match print(&format!("{heading}\n{}", figures::listed(&violations))) {
            Ok(()) => Failure::Failed(format!("{heading}: {}", figures::in_short(&violations))),
            Err(failure) => failure,
        },
        other => Failure::Usage(format!("--verify-sample: {other}")),
    })?;
    let plural = |many: usize| if many == 1 { "" } else { "s" };
    let promised = figures::promises(&choice.algorithm.claims(problem));
    let others = match of - ranks {
        0 => String::new(),
        others => format!("the parts of the other {others} rank{}, contention with their messages, ", plural(others)),
    };
    print(&format!(
        "{heading}\n{}by formula: {promised}\n\
         checked: the parts of {ranks} of {of} rank{}, {rounds} round{} with {messages} messages of {blocks} blocks\n\
         not checked: {others}the formulas\n",
        embedding(problem),
        plural(of),
        plural(rounds),
    ))
}

/// Returns whether a memory limit, of up to 1 GiB, allows verifying one rank's share. Otherwise an
/// error must not suggest a sample. With more memory, even counting the messages takes long.
fn one_fits(choice: &Choice, problem: &Problem, limit: u64) -> bool {
    let limit = limit.min(1 << 30);
    let takes = memory::takes(&*choice.algorithm, problem, Some(1), limit);
    can_be_sampled(problem.collective()) && takes.is_ok_and(|takes| takes <= limit.into())
}

/// Returns the number of rounds, if every rank knows it in advance.
fn rounds(shares: &Shares) -> Option<u64> {
    let (least, most) = shares.size_hint();
    most.filter(|most| *most == least).map(|rounds| rounds as u64)
}

fn described(outline: &Outline, phases: &[Phase]) -> String {
    let mut text = "phases\n".to_owned();
    let mut next = 0;
    for (name, Phase { rounds, transfers }) in outline.phases.iter().zip(phases) {
        let which = match rounds {
            0 => "no rounds".to_owned(),
            1 => format!("round {next}"),
            _ => format!("rounds {next} to {}", next + rounds - 1),
        };
        let many = if *rounds == 0 { String::new() } else { format!(", {transfers} transfers") };
        text += &format!("  {which:18}{name}{many}\n");
        next += rounds;
    }
    text
}

/// Fails if the counted figures contradict the claims.
fn kept(heading: &str, proof: &Proof, claims: &Claims) -> Result<(), Failure> {
    let contradictions: Vec<String> = proof.contradicts(claims).iter().map(ToString::to_string).collect();
    if contradictions.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!("{heading}: {}", contradictions.join("; "))))
}
