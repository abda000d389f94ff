//! The transport passes conformance, also through wrappers and boxes.

use std::sync::Arc;

use necklace::transport::Endpoint;
use necklace::transport::fault::Faulty;
use necklace::transport::trace::Tracing;

use necklace_tests::jobs::Backend;
use necklace_tests::promises::{Boxed, check_conformance};

use crate::jobs::Processes;

#[test]
fn processes_pass_conformance() {
    check_conformance(|size| Processes.endpoints(size), Processes.soon(), |endpoint| endpoint);
}

#[test]
fn traced_boxed_processes_without_faults_pass_conformance() {
    let tracing = Tracing::new();
    check_conformance(
        |size| Processes.endpoints(size),
        Processes.soon(),
        |endpoint| {
            let boxed: Arc<dyn Endpoint> = Arc::new(Boxed::new(endpoint));
            let faulty: Arc<dyn Endpoint> = Arc::new(Faulty::new(boxed, &[]));
            Arc::new(tracing.wrap(faulty))
        },
    );
    assert!(!tracing.events().is_empty());
}
