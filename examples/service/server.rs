//! Answers requests for the progress over a socket.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::jacobi::Progress;

/// Answers each line of each connection with the progress, until it is dropped.
pub(crate) async fn serve(listener: TcpListener, progress: Rc<Cell<Progress>>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let progress = Rc::clone(&progress);
        // A client that goes away ends its own task.
        tokio::task::spawn_local(async move { answer(stream, &progress).await });
    }
}

async fn answer(stream: TcpStream, progress: &Cell<Progress>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    while stream.read_line(&mut request).await? > 0 {
        let Progress { steps, change } = progress.get();
        stream.write_all(format!("{steps} steps, last change {change:e}\n").as_bytes()).await?;
        request.clear();
    }
    Ok(())
}

/// Asks the service once, as a client.
pub(crate) async fn ask(service: SocketAddr) -> io::Result<String> {
    let mut stream = BufReader::new(TcpStream::connect(service).await?);
    stream.write_all(b"progress\n").await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    Ok(line.trim_end().to_owned())
}
