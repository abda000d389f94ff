//! Permutations of distributed arrays: results, costs and proofs.

mod maps;
mod methods;
mod oracle;
mod refused;
