//! A service that answers requests while its ranks exchange, on one thread of tokio a rank.
//!
//! Rank 0 listens on a free port of this host, and a client there asks for the progress again and
//! again. The ranks stop when the equations are solved and the client has had its answers.
//!
//! ```text
//! cargo run -p necklace-service
//! ```
#![allow(clippy::print_stdout)]

mod jacobi;
mod server;

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use necklace::Communicator;
use necklace::launch::Launch;
use tokio::net::TcpListener;
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::jacobi::{Progress, solve};
use crate::server::{ask, serve};

const ANSWERS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let lines = Launch::from_env().ranks(4).run(|comm| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let lines = runtime.map_err(Into::into).and_then(|runtime| LocalSet::new().block_on(&runtime, rank(comm)));
        lines.map_err(|error: Box<dyn Error>| error.to_string())
    })?;
    for line in lines {
        print!("{}", line?);
    }
    Ok(())
}

/// The program of a rank. Returns its report.
async fn rank(mut comm: Communicator) -> Result<String, Box<dyn Error>> {
    let unknowns = 60 * comm.size();
    let progress = Rc::new(Cell::new(Progress::default()));
    let answers = Rc::new(Cell::new(if comm.rank() == 0 { 0 } else { ANSWERS }));
    let mut client = None;
    if comm.rank() == 0 {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let service = listener.local_addr()?;
        tokio::task::spawn_local(serve(listener, Rc::clone(&progress)));
        let answers = Rc::clone(&answers);
        client = Some(tokio::task::spawn_local(async move {
            let mut lines = Vec::new();
            for number in 1..=ANSWERS {
                sleep(Duration::from_millis(5)).await;
                lines.push(ask(service).await?);
                answers.set(number);
            }
            Ok::<_, std::io::Error>(lines)
        }));
    }
    let solution = solve(&mut comm, unknowns, &progress, |now| now.change < 1e-12 && answers.get() == ANSWERS).await?;
    let wrong = solution.iter().enumerate().map(|(i, x)| (x - 1.0 / (i + 1) as f64).abs()).fold(0.0, f64::max);
    assert!(wrong < 1e-9, "an unknown is wrong by {wrong:e}");
    let Some(client) = client else { return Ok(String::new()) };
    let mut report: String = client.await??.iter().map(|line| format!("the service answered: {line}\n")).collect();
    report += &format!("{unknowns} unknowns, solved in {} steps\n", progress.get().steps);
    Ok(report)
}
