//! Words of a command as a shell takes them.

/// A word of a command, quoted where it has to be.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%=:,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_gets_the_word_back() {
        for (word, text) in [
            ("target/runs/a.b.c", "target/runs/a.b.c"),
            ("my runs/a", "'my runs/a'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quoted(word), text);
        }
    }
}
