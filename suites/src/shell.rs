//! Quotes command words for a shell.

/// The word, quoted for a shell if needed.
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
    fn quoted_words_survive_the_shell() {
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
