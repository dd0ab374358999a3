//! runner executes code that nobody trusts. [`pool::Pool`] keeps worker processes and hands each a request at a time; a worker, which
//! is the same program started once more ([`worker::main`]), gives up what the kernel lets it give up (`cage`), runs the code
//! in a fresh engine (`javascript`, `python`) and writes one answer. It knows nothing of events, tools or models.

pub mod cage;
mod frame;
mod javascript;
pub mod pool;
#[cfg(feature = "python")]
mod python;
pub mod request;
pub mod worker;
