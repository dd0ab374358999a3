//! Fair shares of the machine; supervision of background tasks.

pub mod level;
pub mod lock;
pub mod share;
pub mod supervisor;
pub mod under_way;
