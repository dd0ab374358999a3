//! runner executes untrusted code. [`pool::Pool`] keeps worker processes and hands each a request
//! at a time. A worker is the same program started once more ([`worker::main`]). It gives up all
//! rights that the kernel lets go (`cage`), runs the code in a fresh engine (`javascript`,
//! `python`) and writes one answer. It knows nothing of events, tools or models.

pub mod cage;
mod frame;
mod javascript;
pub mod pool;
#[cfg(feature = "python")]
mod python;
pub mod request;
pub mod worker;
