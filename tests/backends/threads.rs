//! The suites of communicators, over threads.

mod suites {
    use necklace_tests::jobs::threads::Threads;

    necklace_tests::suites!(Threads);
}
