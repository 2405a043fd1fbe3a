//! The flags that a program says it has, when it is asked for help. Knows no role.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// Longer than any program takes to say what its flags are.
const PATIENCE: Duration = Duration::from_secs(10);

/// Flags by their names, without dashes. Fails in words if the program does not start, or does not end.
pub(super) async fn flags(program: &str) -> Result<BTreeSet<String>, String> {
    let mut command = Command::new(program);
    command.arg("--help").stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let ended = ended.map_err(|_| {
        format!(
            "`{program} --help` did not end within {} s; write the manifest yourself",
            PATIENCE.as_secs()
        )
    })?;
    let said = ended.map_err(|error| format!("`{program}` does not start: {error}; correct the path"))?;
    let text = [said.stdout, said.stderr].concat();
    Ok(in_text(&String::from_utf8_lossy(&text)))
}

/// Every word that is a flag, as `-name`, `--name`, `--name=VALUE` or `--name VALUE`.
fn in_text(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| letter.is_whitespace() || ",[]()|`'\"".contains(letter));
    let flags = words.filter_map(|word| {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        let name = &name[..name.find(|letter| !is_of_name(letter)).unwrap_or(name.len())];
        name.starts_with(|letter: char| letter.is_ascii_alphabetic())
            .then(|| name.to_owned())
    });
    flags.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_as_help_texts_write_them() {
        let text = "Usage: p [--plain] [-o FILE]\n  -csi-address string\n\tsocket (default \"/run/csi.sock\")\n      \
                    --poll=TIME  how often\n  --a, --kube_config <FILE>\nfour-fold - not a flag -- nor this";
        let found: Vec<String> = in_text(text).into_iter().collect();
        assert_eq!(found, ["a", "csi-address", "kube_config", "o", "plain", "poll"]);
    }
}
