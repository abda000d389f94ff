//! The suites of communicators once more, over a backend that has collectives of its own; and what
//! is special there.

mod agreement;
mod choosing;
mod wrapped;

mod suites {
    use necklace_tests::jobs::native::WithLibrary;

    necklace_tests::suites!(WithLibrary);
}
