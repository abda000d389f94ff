//! The suites of communicators, over TCP.

mod suites {
    use necklace_tests::jobs::tcp::Tcp;

    necklace_tests::suites!(Tcp);
}
