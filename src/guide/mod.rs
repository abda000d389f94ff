//! A guide: how to use Necklace, chapter by chapter.
//!
//! | chapter | answers |
//! |---|---|
//! | [Quick start](quick_start) | What does a program look like? How do I run it? |
//! | [Collectives](collectives) | Which calls, algorithms and networks are there? How does `auto` choose? |
//! | [Calls that do not block](overlap) | How do I compute during a call? How do I await calls? |
//! | [Distributed arrays](arrays) | How do I change the distribution of an array? What replaces FFTW's transpose? |
//! | [Choosing a backend](backends) | Threads, TCP or MPI? How do I start ranks? |
//! | [Over MPI](mpi) | How do I build and run with Open MPI or MPICH? What does `native` do? |
//! | [From MPI](from_mpi) | What is each call of MPI and rsmpi called here? |
//! | [From `torch.distributed`](from_torch) | What is each call of `torch.distributed` called here? |
//! | [The command](command) | How do I plan, price, simulate, verify, measure and run? |
//! | [Testing](testing) | How do I test a program, inject faults and read a trace? |
//! | [Your own topology](own_topology) | How do I describe a network that the crate does not know? |
//! | [Your own algorithm](own_algorithm) | How do I write, prove and price a schedule? |
//! | [Your own transport](own_transport) | How do I add a backend? |
//! | [Failures](failures) | What happens if a rank panics, dies, hangs or calls something else? |
//! | [Security](security) | What does the key of a job protect, and what not? |
//! | [The cost model](cost_model) | How is a schedule priced? What do claims, bounds and simulations say? |
//!
//! The glossary of terms is `doc/glossary.md` in the repository.
//!
//! The programs of these chapters are compiled, and run where threads suffice, by `cargo test
//! --doc`.

macro_rules! chapters {
    ($($chapter:ident $page:literal)*) => {$(
        #[doc = include_str!($page)]
        pub mod $chapter {}
    )*};
}

chapters! {
    quick_start "quick_start.md"
    collectives "collectives.md"
    overlap "overlap.md"
    arrays "arrays.md"
    backends "backends.md"
    mpi "mpi.md"
    from_mpi "from_mpi.md"
    from_torch "from_torch.md"
    command "command.md"
    testing "testing.md"
    own_topology "own_topology.md"
    own_algorithm "own_algorithm.md"
    own_transport "own_transport.md"
    failures "failures.md"
    security "security.md"
    cost_model "cost_model.md"
}
