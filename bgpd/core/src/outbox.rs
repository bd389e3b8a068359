//! Where a state machine puts what it wants done, in order.

/// An ordered list of actions for the driver to carry out.
///
/// The driver keeps one and drains it after each call, so that nothing is allocated in the steady state.
#[derive(Debug)]
pub struct Outbox<A> {
    actions: Vec<A>,
}

impl<A> Outbox<A> {
    /// An empty outbox.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            actions: Vec::new(),
        }
    }

    /// Appends one action.
    pub fn push(&mut self, action: A) {
        self.actions.push(action);
    }

    /// Takes all actions out, oldest first; the room stays allocated.
    pub fn drain(&mut self) -> impl Iterator<Item = A> + '_ {
        self.actions.drain(..)
    }

    /// The actions that wait, oldest first.
    #[must_use]
    pub fn as_slice(&self) -> &[A] {
        &self.actions
    }

    /// True when nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }
}

impl<A> Default for Outbox<A> {
    fn default() -> Self {
        Self::new()
    }
}
