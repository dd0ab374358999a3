//! Tools: their interface, the list of them, the layers around a call.

pub mod approval;
pub mod arguments;
pub mod catalogue;
pub mod code;
pub mod contacts;
pub mod crowd;
pub mod fitting;
pub mod gate;
pub mod knowledge;
pub mod layers;
pub mod quote;
pub mod schema;
pub mod secret_file;
pub mod server_names;
pub mod spawning;
pub mod supplies;
pub mod tool;
pub mod toolbox;
pub mod word;
