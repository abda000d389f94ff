//! Permutations of distributed arrays: results, costs and proofs.

mod maps;
mod oracle;
mod refused;
mod ways;
