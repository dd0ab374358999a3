//! The frames between a server and its worker: a length of four bytes, big-endian, and JSON. Each
//! side bounds its reads.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::request::{Limits, Reason, Request, Thrown};

/// Most bytes of a request: the code and its input.
pub(crate) const REQUEST_MAX: usize = 16 << 20;

/// A frame from the server to its worker: first its limits, once, then requests.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// The limits of each run.
    Limits(Limits),
    /// A run.
    Run(Request),
}

/// A frame from a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The worker is in its cage and waits for a request. `kept` names the rights that the kernel
    /// did not let it give up.
    Ready { kept: Vec<String> },
    /// A run ended by itself, with a value or an error of its own. The value is JSON in a text: how deep it is nested is for the
    /// server to look at.
    Ended {
        outcome: Result<String, Thrown>,
        printed: String,
    },
    /// A run was stopped by the worker itself, which ends now.
    Stopped {
        reason: Reason,
        detail: String,
        printed: String,
    },
}

/// Reads one frame, as the worker does.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut bytes = vec![0; checked(length, REQUEST_MAX)?];
    from.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Writes one frame, as the worker does.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&encoded(message)?)?;
    to.flush()
}

/// Reads one frame of at most so many bytes, as the server does.
pub(crate) async fn receive<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    most: usize,
) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length).await?;
    let mut bytes = vec![0; checked(length, most)?];
    from.read_exact(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Writes one frame, as the server does.
pub(crate) async fn send(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    to.write_all(&encoded(message)?).await?;
    to.flush().await
}

fn encoded(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4)
        .map_err(|_| io::Error::other("a frame of more than 4 GiB"))?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

fn checked(length: [u8; 4], most: usize) -> io::Result<usize> {
    let length = u32::from_be_bytes(length) as usize;
    if length > most {
        return Err(io::Error::other(format!(
            "a frame of {length} bytes, of at most {most}"
        )));
    }
    Ok(length)
}
