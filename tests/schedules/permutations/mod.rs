//! Permutations of distributed arrays: what they do, what they cost, what is proved of them.

mod maps;
mod oracle;
mod refused;
mod ways;
