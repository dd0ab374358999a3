//! The lock of this crate: held for a few lines, never across an await.

/// A mutex with a guard that cannot escape. A panic under it leaves a whole value: every change is
/// one assignment.
#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(
            &mut self
                .0
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        )
    }
}
