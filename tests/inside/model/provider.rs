//! A provider that sends exactly the bytes it is told to, over plain TCP, which a well-behaved HTTP
//! library would not send.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use kit::within;

/// The answer to one request.
#[derive(Clone)]
pub struct Say {
    head: String,
    parts: Vec<Vec<u8>>,
    gap: Duration,
    after: After,
}

/// The behaviour after the last byte.
#[derive(Clone, Copy, PartialEq)]
enum After {
    /// The orderly end of the body; the connection stays.
    End,
    /// The connection is closed, before the promised end, too.
    Cut,
    /// Nothing, for ever.
    Silence,
    /// The parts again, for ever.
    Again,
}

impl Say {
    /// A status with headers (lines without their end) and a body.
    pub fn status(status: &str, headers: &[&str], body: impl Into<Vec<u8>>) -> Self {
        let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let head = format!("HTTP/1.1 {status}\r\n{lines}");
        Self {
            head,
            parts: vec![body.into()],
            gap: Duration::ZERO,
            after: After::End,
        }
    }

    /// A plain answer.
    pub fn plain(body: impl Into<Vec<u8>>) -> Self {
        Self::status("200 OK", &["content-type: application/json"], body)
    }

    /// A streamed answer: these bytes in these parts.
    pub fn stream(parts: &[&[u8]]) -> Self {
        let parts = parts.iter().map(|part| part.to_vec()).collect();
        Self {
            parts,
            ..Self::status("200 OK", &["content-type: text/event-stream"], "")
        }
    }

    /// A streamed answer: these events, without a mark of the end.
    pub fn events(events: &[&str]) -> Self {
        let parts: Vec<Vec<u8>> = events
            .iter()
            .map(|event| format!("data: {event}\n\n").into_bytes())
            .collect();
        Self::stream(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// With this time between the parts.
    pub fn slowly(mut self, gap: Duration) -> Self {
        self.gap = gap;
        self
    }

    /// Then the connection breaks.
    pub fn cut(mut self) -> Self {
        self.after = After::Cut;
        self
    }

    /// Then nothing more comes.
    pub fn silent(mut self) -> Self {
        self.after = After::Silence;
        self
    }

    /// Then the parts come again, and again.
    pub fn again(mut self) -> Self {
        self.after = After::Again;
        self
    }
}

/// A request as it came.
#[derive(Clone)]
pub struct Asked {
    pub head: String,
    pub body: Vec<u8>,
    pub at: Instant,
}

#[derive(Default)]
struct Shared {
    script: Mutex<VecDeque<Say>>,
    asked: Mutex<Vec<Asked>>,
    /// Connections made, and those that the client closed in the middle of an answer.
    connections: watch::Sender<(usize, usize)>,
}

/// The provider; the last thing it is to say is repeated.
pub struct Provider {
    shared: Arc<Shared>,
    address: SocketAddr,
    serving: AbortHandle,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Provider {
    pub async fn says(script: impl IntoIterator<Item = Say>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Mutex::new(script.into_iter().collect()),
            ..Shared::default()
        });
        let serving = tokio::spawn(accept(listener, shared.clone())).abort_handle();
        Self {
            shared,
            address,
            serving,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.borrow().0
    }

    /// Waits until the client closes a connection before it has the whole answer.
    pub async fn closed(&self) {
        let mut connections = self.shared.connections.subscribe();
        within(
            "the end of the connection",
            connections.wait_for(|(_, closed)| *closed > 0),
        )
        .await
        .map(drop)
        .unwrap();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        shared.connections.send_modify(|(made, _)| *made += 1);
        tokio::spawn(serve(socket, shared.clone()));
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    while let Some(asked) = read_request(&mut socket).await {
        let say = {
            let mut script = shared.script.lock().unwrap();
            shared.asked.lock().unwrap().push(asked);
            if script.len() > 1 {
                script.pop_front()
            } else {
                script.front().cloned()
            }
        };
        let say = say.expect("the provider has nothing to say");
        match answer(&mut socket, &say).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) => return shared.connections.send_modify(|(_, closed)| *closed += 1),
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    while bytes.len() < end + length.unwrap_or(0) {
        socket.read_buf(&mut bytes).await.ok()?;
    }
    Some(Asked {
        head,
        body: bytes[end..].to_vec(),
        at: Instant::now(),
    })
}

/// True when the connection may be used again, an error when the client went away.
async fn answer(socket: &mut TcpStream, say: &Say) -> std::io::Result<bool> {
    socket.set_nodelay(true)?;
    socket
        .write_all(format!("{}transfer-encoding: chunked\r\n\r\n", say.head).as_bytes())
        .await?;
    loop {
        for part in say.parts.iter().filter(|part| !part.is_empty()) {
            send(
                socket,
                &[format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat(),
                say.gap,
            )
            .await?;
        }
        match say.after {
            After::End => break socket.write_all(b"0\r\n\r\n").await.map(|()| true),
            After::Cut => break Ok(false),
            After::Silence => send(socket, b"", Duration::from_secs(3600)).await?,
            After::Again => {}
        }
    }
}

/// Sends, then waits, unless the client closes the connection.
async fn send(socket: &mut TcpStream, bytes: &[u8], gap: Duration) -> std::io::Result<()> {
    socket.write_all(bytes).await?;
    if gap.is_zero() {
        return Ok(());
    }
    let mut byte = [0];
    match tokio::time::timeout(gap, socket.peek(&mut byte)).await {
        Ok(Ok(0)) => Err(std::io::ErrorKind::ConnectionReset.into()),
        Ok(Err(error)) => Err(error),
        _ => Ok(()),
    }
}
