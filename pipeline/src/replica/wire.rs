//! The messages between the backend `grpc` and its server, and their encoding. One unary method carries everything.

use std::ops::Range;

use bytes::{Buf, BufMut, Bytes};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

use crate::replica::data::Data;
use crate::replica::error::ReplicaError;
use crate::replica::reader::read;

/// The one method.
pub(crate) const PATH: &str = "/unhurried.Replicas/Ask";

/// No call or answer is larger, if nothing is said.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Request of a client. `session` is the client: two of them never share an instance.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    /// Have exactly these instances of a replica. The client numbers them, and no number twice: those there keep their
    /// state, those missing are built, the others end.
    Scale {
        session: String,
        replica: String,
        arguments: Data,
        instances: Vec<Range<u64>>,
    },
    /// Call a method of an instance.
    Call {
        session: String,
        replica: String,
        instance: u64,
        method: String,
        arguments: Data,
    },
    /// End the instances of a replica.
    Shutdown { session: String, replica: String },
}

impl Ask {
    /// The replica, and the method that this is about.
    pub(crate) fn of(&self) -> (String, String) {
        match self {
            Ask::Scale { replica, .. } => (replica.clone(), "new".to_owned()),
            Ask::Call {
                replica, method, ..
            } => (replica.clone(), method.clone()),
            Ask::Shutdown { replica, .. } => (replica.clone(), "shutdown".to_owned()),
        }
    }
}

/// Answer of a server: data, or the fault of the replica. Trouble with the connection is a gRPC status.
pub(crate) type Reply = Result<Data, ReplicaError>;

/// A message as bytes, unless there are more of them than `limit`.
pub(crate) fn packed(
    message: &impl Serialize,
    what: &str,
    (replica, method): (&str, &str),
    limit: usize,
) -> Result<Bytes, ReplicaError> {
    let bytes = Data::of(message)
        .map_err(|error| ReplicaError::answer(replica, method, error))?
        .into_bytes();
    if bytes.len() > limit {
        let n = bytes.len();
        let text = format!("the {what} has {n} bytes, and `message_bytes_max` is {limit}");
        return Err(too_large(replica, method, text));
    }
    Ok(bytes.into())
}

/// A message of this call above a limit.
pub(crate) fn too_large(replica: &str, method: &str, text: String) -> ReplicaError {
    ReplicaError::TooLarge {
        replica: replica.to_owned(),
        method: method.to_owned(),
        text,
    }
}

/// The other way.
pub(crate) fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Status> {
    read(bytes).map_err(|error| Status::invalid_argument(error.to_string()))
}

/// Messages that are bytes already: their makers check their form and size.
#[derive(Clone, Copy)]
pub(crate) struct Packed;

impl Codec for Packed {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Packed;
    type Decoder = Packed;

    fn encoder(&mut self) -> Packed {
        Packed
    }

    fn decoder(&mut self) -> Packed {
        Packed
    }
}

impl Encoder for Packed {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Packed {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
