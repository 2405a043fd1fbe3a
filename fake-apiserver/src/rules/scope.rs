//! Variables of an expression, the innermost last.

/// Variables, the innermost last.
#[derive(Debug)]
pub(super) struct Scope<'n, T>(Vec<(&'n str, T)>);

impl<'n, T> Scope<'n, T> {
    pub(super) fn new(variables: Vec<(&'n str, T)>) -> Self {
        Self(variables)
    }

    pub(super) fn find(&self, name: &str) -> Option<&T> {
        let mut variables = self.0.iter().rev();
        variables
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    pub(super) fn find_mut(&mut self, name: &str) -> Option<&mut T> {
        let mut variables = self.0.iter_mut().rev();
        variables
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    pub(super) fn push(&mut self, name: &'n str, value: T) {
        self.0.push((name, value));
    }

    /// Forgets all but the first variables.
    pub(super) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
