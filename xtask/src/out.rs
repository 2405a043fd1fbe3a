//! Writing to standard output and standard error, either of which may be closed or full.
//!
//! A closed pipe, as with `head`, does not end the command: further output is dropped, and the exit code still shows the result. Any other
//! write error is printed once, and the command continues, so that it writes its reports and returns the exit code of its result. A command
//! whose only result is its output must check whether output was lost.

use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use suites::harness::is_unprintable;

/// Whether a write to standard output failed, so that output is missing.
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

macro_rules! println {
    () => { $crate::out::write_stdout(format_args!("\n")) };
    ($($text:tt)*) => { $crate::out::write_stdout(format_args!("{}\n", format_args!($($text)*))) };
}

macro_rules! print {
    ($($text:tt)*) => { $crate::out::write_stdout(format_args!($($text)*)) };
}

macro_rules! eprintln {
    () => { $crate::out::write_stderr(format_args!("\n")) };
    ($($text:tt)*) => { $crate::out::write_stderr(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {eprintln, print, println};

/// Writes to standard output. After the first failed write, all further output is dropped, because output with a gap would be misleading.
pub(crate) fn write_stdout(text: Arguments<'_>) {
    if is_output_lost() {
        return;
    }
    let mut stream = anstream::stdout();
    let text = escaped(&text.to_string());
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !OUTPUT_LOST.swap(true, Ordering::Relaxed) => {
            write_stderr(format_args!(
                "error: standard output can't be written: {error}; redirect it elsewhere\n"
            ));
        }
        _ => {}
    }
}

/// Whether a write to standard output failed. The error message has already been printed.
pub(crate) fn is_output_lost() -> bool {
    OUTPUT_LOST.load(Ordering::Relaxed)
}

/// Writes to standard error. Errors are ignored, because they cannot be reported anywhere.
pub(crate) fn write_stderr(text: Arguments<'_>) {
    anstream::stderr()
        .write_all(escaped(&text.to_string()).as_bytes())
        .ok();
}

/// Escapes control characters as `\uXXXX`, because names, messages and output of other programs may contain terminal escapes. Escape
/// sequences for colours are not escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_unprintable) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match colour(rest) {
            Some(colour) => {
                out.push_str(colour);
                colour.len()
            }
            None => {
                let letter = rest.chars().next().unwrap_or_default();
                // In JSON output, the escape `\uXXXX` is equivalent to the character.
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
                letter.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The escape sequence at the start of a text, if it is a colour that this program or clap uses.
fn colour(text: &str) -> Option<&str> {
    const SET: [&str; 7] = ["0", "1", "2", "4", "31", "32", "33"];
    let (codes, _) = text.strip_prefix("\u{1b}[")?.split_once('m')?;
    let is_set = codes.split(';').all(|code| SET.contains(&code));
    is_set.then(|| &text[..codes.len() + 3])
}

/// A progress bar with an indicatif template. Hidden if standard error is no terminal, or a terminal of type `dumb`.
pub(crate) fn progress(steps: usize, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Prints a progress line each minute if standard error is no terminal, for readers of the log of a long run.
pub(crate) struct ProgressLog(Option<Instant>);

impl ProgressLog {
    /// Starts the progress log. The first line is due after a minute.
    pub(crate) fn begin() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        ProgressLog((!is_terminal).then(Instant::now))
    }

    /// Prints a progress line if at least a minute has passed since the previous one.
    pub(crate) fn log(&mut self, line: impl FnOnce() -> String) {
        const MINUTE: Duration = Duration::from_secs(60);
        if let Some(last) = self.0.as_mut().filter(|last| last.elapsed() >= MINUTE) {
            *last = Instant::now();
            eprintln!("{}", line());
        }
    }
}

/// The command as one line, with each word quoted for a shell if needed.
pub(crate) fn shell_command<'w>(words: impl IntoIterator<Item = &'w String>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| suites::quoted(word)).collect();
    words.join(" ")
}
