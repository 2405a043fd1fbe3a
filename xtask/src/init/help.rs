//! The flags that a program says it has, when it is asked for help. Knows no role.

use std::collections::BTreeSet;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// Longer than any program takes to say what its flags are.
const PATIENCE: Duration = Duration::from_secs(10);

/// More bytes than the help of any program has.
const LIMIT: u64 = 1 << 20;

/// The flags of the sub-command that `argv` names, or else of the program, by their names without dashes.
///
/// Fails if the program does not start, or does not end.
pub(super) async fn flags(argv: &[String]) -> Result<BTreeSet<String>, String> {
    let Some((program, arguments)) = argv.split_first() else {
        return Ok(BTreeSet::new());
    };
    let commands: Vec<&String> = arguments
        .iter()
        .take_while(|word| !word.starts_with('-'))
        .collect();
    let of_command = match commands.is_empty() {
        true => BTreeSet::new(),
        false => asked(program, &commands).await?,
    };
    match of_command.iter().all(|flag| flag == "help" || flag == "h") {
        true => asked(program, &[]).await,
        false => Ok(of_command),
    }
}

/// The flags in what the program prints with `--help` after these words; none if it ends with an error.
async fn asked(program: &str, words: &[&String]) -> Result<BTreeSet<String>, String> {
    let mut command = Command::new(program);
    command
        .args(words)
        .arg("--help")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, output(command)).await;
    let ended = ended.map_err(|_| {
        let line: String = words.iter().flat_map(|word| [word, " "]).collect();
        format!(
            "`{program} {line}--help` did not end within {} s; write the manifest yourself",
            PATIENCE.as_secs()
        )
    })?;
    let printed = ended.map_err(|error| format!("`{program}` does not start: {error}; correct the path"))?;
    // Go programs print their flags and end with 2; with words that are no sub-command they may print an error alone.
    let (text, status) = printed;
    if !words.is_empty() && !status.success() {
        return Ok(BTreeSet::new());
    }
    Ok(in_text(&String::from_utf8_lossy(&text)))
}

/// Runs a program and returns the beginning of its output, standard output first, and its exit status.
async fn output(mut command: Command) -> std::io::Result<(Vec<u8>, ExitStatus)> {
    let mut child = command.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (out, err) = tokio::try_join!(beginning(out), beginning(err))?;
    Ok(([out, err].concat(), child.wait().await?))
}

/// What a pipe returns, as far as `LIMIT`. Then it is closed, and the program gets an error when it writes more.
async fn beginning(pipe: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(LIMIT).read_to_end(&mut text).await?;
    }
    Ok(text)
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

    #[tokio::test]
    async fn of_endless_output_the_beginning_is_read() {
        let mut command = Command::new("yes");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let (text, status) = output(command).await.unwrap();
        assert_eq!((text.len() as u64, status.success()), (LIMIT, false));
    }

    #[test]
    fn flags_are_found_as_help_texts_write_them() {
        let text = "Usage: p [--plain] [-o FILE]\n  -csi-address string\n\tsocket (default \"/run/csi.sock\")\n      \
                    --poll=TIME  how often\n  --a, --kube_config <FILE>\nfour-fold - not a flag -- nor this";
        let found: Vec<String> = in_text(text).into_iter().collect();
        assert_eq!(found, ["a", "csi-address", "kube_config", "o", "plain", "poll"]);
    }
}
