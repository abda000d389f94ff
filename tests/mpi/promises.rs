//! The transport keeps every promise, also inside wrappers and boxes.

use std::sync::Arc;

use necklace::transport::Endpoint;
use necklace::transport::fault::Faulty;
use necklace::transport::trace::Tracing;

use necklace_tests::jobs::Backend;
use necklace_tests::promises::{Boxed, check_conformance};

use crate::jobs::Processes;

#[test]
fn processes_pass_conformance() {
    check_conformance(|size| Processes.endpoints(size), Processes.soon(), 1, |endpoint| endpoint);
}

#[test]
fn wrapped_and_boxed_processes_keep_every_promise() {
    let tracing = Tracing::new();
    check_conformance(
        |size| Processes.endpoints(size),
        Processes.soon(),
        1,
        |endpoint| {
            let boxed: Arc<dyn Endpoint> = Arc::new(Boxed::new(endpoint));
            let faulty: Arc<dyn Endpoint> = Arc::new(Faulty::new(boxed, &[]));
            Arc::new(tracing.wrap(faulty))
        },
    );
    assert!(!tracing.events().is_empty());
}
