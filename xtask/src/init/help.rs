//! Parses the flags in a program's `--help` output. Does not know roles.

use std::collections::BTreeSet;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

const HELP_TIMEOUT: Duration = Duration::from_secs(10);

const MAX_HELP_BYTES: u64 = 1 << 20;

/// Flags of the subcommand that `argv` names, or else of the program; names without dashes.
///
/// Fails if the program does not start or does not exit in time.
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
        false => flags_of(program, &commands).await?,
    };
    match of_command.iter().all(|flag| flag == "help" || flag == "h") {
        true => flags_of(program, &[]).await,
        false => Ok(of_command),
    }
}

/// Flags in the help of a program or of its subcommand `words`; empty if the program fails.
async fn flags_of(program: &str, words: &[&String]) -> Result<BTreeSet<String>, String> {
    let mut command = Command::new(program);
    command
        .args(words)
        .arg("--help")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(HELP_TIMEOUT, output(command)).await;
    let ended = ended.map_err(|_| {
        let line: String = words.iter().flat_map(|word| [word, " "]).collect();
        format!(
            "`{program} {line}--help` did not end within {} s; write the manifest yourself",
            HELP_TIMEOUT.as_secs()
        )
    })?;
    let printed = ended.map_err(|error| format!("`{program}` does not start: {error}; correct the path"))?;
    // Go programs print their usage and exit with status 2. For words that are no subcommand, the output may be only an error.
    let (text, status) = printed;
    if !words.is_empty() && !status.success() {
        return Ok(BTreeSet::new());
    }
    Ok(flags_in_text(&String::from_utf8_lossy(&text)))
}

/// Runs a program. Returns the start of its standard output, followed by standard error, and its exit status.
async fn output(mut command: Command) -> std::io::Result<(Vec<u8>, ExitStatus)> {
    let mut child = command.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (out, err) = tokio::try_join!(read_start(out), read_start(err))?;
    Ok(([out, err].concat(), child.wait().await?))
}

/// Reads up to `MAX_HELP_BYTES` from a pipe and closes it, after which writes of the program fail.
async fn read_start(pipe: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(MAX_HELP_BYTES).read_to_end(&mut text).await?;
    }
    Ok(text)
}

/// All words of the form `-name`, `--name`, `--name=VALUE` or `--name VALUE`.
fn flags_in_text(text: &str) -> BTreeSet<String> {
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
    async fn endless_output_is_cut_at_the_limit() {
        let mut command = Command::new("yes");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let (text, status) = output(command).await.unwrap();
        assert_eq!((text.len() as u64, status.success()), (MAX_HELP_BYTES, false));
    }

    #[test]
    fn flags_are_found_in_go_and_clap_help_texts() {
        let text = "Usage: p [--plain] [-o FILE]\n  -csi-address string\n\tsocket (default \"/run/csi.sock\")\n      \
                    --poll=TIME  how often\n  --a, --kube_config <FILE>\nfour-fold - not a flag -- nor this";
        let found: Vec<String> = flags_in_text(text).into_iter().collect();
        assert_eq!(found, ["a", "csi-address", "kube_config", "o", "plain", "poll"]);
    }
}
