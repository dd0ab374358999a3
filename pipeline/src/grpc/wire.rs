//! What client and server say to each other, and how it becomes bytes.

use std::marker::PhantomData;

use bytes::{Buf, BufMut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

use crate::replica::backend::Data;
use crate::replica::error::ReplicaError;

/// The one method.
pub(crate) const PATH: &str = "/pipeline.Replicas/Ask";

/// No call or answer is larger.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// What a client asks of a server. `session` is the client: two of them never share an instance.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    /// Bring a replica to `n` instances; those there keep their state.
    Scale { session: String, replica: String, arguments: Data, n: usize },
    /// Call a method of an instance.
    Call { session: String, replica: String, instance: usize, method: String, arguments: Data },
    /// End the instances of a replica.
    Shutdown { session: String, replica: String },
}

/// What a server answers: data, or what went wrong with the replica. Trouble with the connection is a gRPC status.
pub(crate) type Reply = Result<Data, ReplicaError>;

/// Messages as JSON.
pub(crate) struct Json<S, R>(PhantomData<(S, R)>);

impl<S, R> Json<S, R> {
    pub(crate) fn new() -> Self {
        Json(PhantomData)
    }
}

impl<S, R> Codec for Json<S, R>
where
    S: Serialize + Send + 'static,
    R: DeserializeOwned + Send + 'static,
{
    type Encode = S;
    type Decode = R;
    type Encoder = Json<S, R>;
    type Decoder = Json<S, R>;

    fn encoder(&mut self) -> Self::Encoder {
        Json::new()
    }

    fn decoder(&mut self) -> Self::Decoder {
        Json::new()
    }
}

impl<S: Serialize, R> Encoder for Json<S, R> {
    type Item = S;
    type Error = Status;

    fn encode(&mut self, item: S, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        serde_json::to_writer(buffer.writer(), &item).map_err(|error| Status::internal(error.to_string()))
    }
}

impl<S, R: DeserializeOwned> Decoder for Json<S, R> {
    type Item = R;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<R>, Status> {
        let bytes = buffer.copy_to_bytes(buffer.remaining());
        serde_json::from_slice(&bytes).map(Some).map_err(|error| Status::invalid_argument(error.to_string()))
    }
}
