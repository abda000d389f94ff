//! The `necklace` command.
fn main() {}
