//! Nothing: this package has the examples that need more features than the others.
