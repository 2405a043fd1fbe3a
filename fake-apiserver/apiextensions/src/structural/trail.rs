//! The field path of the value being visited, in a single string to which each step appends.

/// The path from the root value to the visited value: `spec.ports[0].name`.
#[derive(Debug, Default)]
pub(crate) struct Trail(String);

impl Trail {
    /// Calls `look` with the path of a member, and restores the path afterwards.
    pub(crate) fn member<T>(&mut self, name: &str, look: impl FnOnce(&mut Self) -> T) -> T {
        self.with_child_path(look, |path| {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
        })
    }

    /// Calls `look` with the path of a map entry, whose key is in brackets, and restores the path afterwards.
    pub(crate) fn key<T>(&mut self, name: &str, look: impl FnOnce(&mut Self) -> T) -> T {
        self.with_child_path(look, |path| {
            path.push('[');
            path.push_str(name);
            path.push(']');
        })
    }

    /// Calls `look` with the path of a list item, and restores the path afterwards.
    pub(crate) fn entry<T>(&mut self, index: usize, look: impl FnOnce(&mut Self) -> T) -> T {
        self.with_child_path(look, |path| path.push_str(&format!("[{index}]")))
    }

    fn with_child_path<T>(&mut self, look: impl FnOnce(&mut Self) -> T, go: impl FnOnce(&mut String)) -> T {
        let length = self.0.len();
        go(&mut self.0);
        let found = look(self);
        self.0.truncate(length);
        found
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn member_path(&self, name: &str) -> String {
        match self.is_root() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.0),
        }
    }
}
