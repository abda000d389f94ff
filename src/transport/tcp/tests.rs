use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

mod abuse;
mod credit;

use super::mesh::Mesh;
use super::process::Member;
use crate::transport::Endpoint;
use crate::transport::conformance::{self, Fixture};

/// Processes that are threads, with connections made at once.
#[derive(Debug)]
struct Pairs;

impl Fixture for Pairs {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        mesh(size).map_err(|error| error.to_string())
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(1)
    }
}

fn mesh(size: usize) -> std::io::Result<Vec<Arc<dyn Endpoint>>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut streams: Vec<Vec<Option<TcpStream>>> = (0..size).map(|_| (0..size).map(|_| None).collect()).collect();
    for i in 0..size {
        for j in 0..i {
            let one = TcpStream::connect(listener.local_addr()?)?;
            let (other, _) = listener.accept()?;
            for stream in [&one, &other] {
                stream.set_nodelay(true)?;
            }
            (streams[i][j], streams[j][i]) = (Some(one), Some(other));
        }
    }
    let endpoint = |(rank, streams)| {
        let member = Member::start(Mesh { rank, streams, neighbours: size }).map_err(std::io::Error::other)?;
        Ok(member as Arc<dyn Endpoint>)
    };
    streams.into_iter().enumerate().map(endpoint).collect()
}

#[test]
fn processes_keep_every_promise() {
    conformance::run_all(&Pairs).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn speed() {
    use crate::ids::Rank;
    use crate::plan::{Buffer, Buffers, Message, Program, ProgramRound, Run, Sizes};
    use crate::transport::{ContextId, RoundIo, Signature};
    use std::time::Instant;
    let only: Option<usize> = std::env::var("RANKS").ok().and_then(|r| r.parse().ok());
    for size in [2usize, 4, 8] {
        if only.is_some_and(|o| o != size) {
            continue;
        }
        for bytes in [8u64, 4096, 32768, 262144, 1048576] {
            let endpoints = mesh(size).unwrap();
            let times: Vec<_> = std::thread::scope(|scope| {
                let handles: Vec<_> = endpoints
                    .into_iter()
                    .enumerate()
                    .map(|(rank, endpoint)| {
                        scope.spawn(move || {
                            let members: Vec<Rank> = (0..size).map(Rank::new).collect();
                            let mut world = endpoint.open(ContextId::WORLD, &members).unwrap();
                            let (mut runs, mut sends, mut receives) = (vec![], vec![], vec![]);
                            for peer in (0..size).filter(|p| *p != rank) {
                                let message = |runs: &mut Vec<Run>, buffer| {
                                    let at = runs.len() as u32;
                                    runs.push(Run::new(buffer, peer as u64 * bytes, bytes));
                                    Message { peer: Rank::new(peer), index: 0, bytes, runs: at..at + 1 }
                                };
                                sends.push(message(&mut runs, Buffer::Input));
                                receives.push(message(&mut runs, Buffer::Output));
                            }
                            let all = size as u64 * bytes;
                            let program = Program::new(
                                runs,
                                vec![ProgramRound { number: 0, sends, receives }],
                                Sizes { input: all, output: all, scratch: 0 },
                            )
                            .unwrap();
                            let (input, mut output) = (vec![rank as u8; all as usize], vec![0u8; all as usize]);
                            let signature = Signature { fingerprint: 1, words: "speed".into() };
                            let calls = if bytes > 100_000 { 200 } else { 2000 };
                            let mut times = vec![];
                            for call in 0..calls {
                                let since = Instant::now();
                                let buffers = Buffers { input: &input, output: &mut output, scratch: &mut [] };
                                let io = RoundIo::new(&program, 0, buffers, call, &signature, Duration::from_secs(30))
                                    .unwrap();
                                world.round(io).unwrap();
                                times.push(since.elapsed().as_secs_f64() * 1e6);
                            }
                            let mut t = times.split_off(calls as usize / 4);
                            t.sort_by(f64::total_cmp);
                            (t[t.len() / 2], t.iter().sum::<f64>() / t.len() as f64)
                        })
                    })
                    .collect();
                handles.into_iter().map(|h| h.join().unwrap()).collect()
            });
            println!("{size} ranks {bytes:8} bytes: median {:8.1} mean {:8.1}", times[0].0, times[0].1);
        }
    }
}
