//! What the thread that reads the keyboard tells the screen: how large the terminal is, and that a line was entered.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustyline::DefaultEditor;

/// What the screen knows of the keyboard.
#[derive(Debug, Default)]
pub struct Keyboard {
    /// How many lines were entered: each moves the cursor, so that what stood above can no longer be redrawn.
    pub entered: AtomicU64,
    /// How wide the terminal is.
    pub width: AtomicUsize,
    /// How high it is.
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
