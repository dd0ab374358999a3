//! Facts that the thread of the keyboard shares with the screen: the size of the terminal, and the
//! number of entered lines.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustyline::DefaultEditor;

/// The state of the keyboard for the screen.
#[derive(Debug, Default)]
pub struct Keyboard {
    /// Entered lines: each moves the cursor, so that the rows above can no longer be redrawn.
    pub entered: AtomicU64,
    /// Width of the terminal.
    pub width: AtomicUsize,
    /// Height of the terminal.
    pub height: AtomicUsize,
}

impl Keyboard {
    /// Asks the terminal for its size.
    pub fn measure(&self, editor: &mut DefaultEditor) {
        let (width, height) = editor.dimensions().unwrap_or((80, 24));
        self.width.store(usize::from(width), Ordering::SeqCst);
        self.height.store(usize::from(height), Ordering::SeqCst);
    }
}
