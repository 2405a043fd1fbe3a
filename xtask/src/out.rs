//! Writing to standard output and standard error, where either may be full or gone.
//!
//! Knows nothing of what is said. A reader that has gone, as `head` does, is no reason to end: what is said from then on is lost, and the
//! exit code still gives the result. Any other error is told once, and the command goes on, so that reports are written and a failure
//! counts; one that only tells what it does has to ask whether anybody hears it.

use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use suites::harness::is_unprintable;

/// Whether standard output could not be written, so that something is lost.
static LOST: AtomicBool = AtomicBool::new(false);

/// Writes a text and a line end to standard output.
macro_rules! println {
    () => { $crate::out::put(format_args!("\n")) };
    ($($text:tt)*) => { $crate::out::put(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes a text to standard output.
macro_rules! print {
    ($($text:tt)*) => { $crate::out::put(format_args!($($text)*)) };
}

/// Writes a text and a line end to standard error.
macro_rules! eprintln {
    () => { $crate::out::tell(format_args!("\n")) };
    ($($text:tt)*) => { $crate::out::tell(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {eprintln, print, println};

/// Writes to standard output. After a text that is lost all others are: the rest would make no sense without it.
pub(crate) fn put(text: Arguments<'_>) {
    if is_lost() {
        return;
    }
    let mut stream = anstream::stdout();
    let text = harmless(&text.to_string());
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) => {
            tell(format_args!(
                "error: standard output can't be written: {error}; send it somewhere else\n"
            ));
        }
        _ => {}
    }
}

/// Whether something is lost that was to be on standard output. That is reported already.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Writes to standard error. Where that fails, nobody is left to read it.
pub(crate) fn tell(text: Arguments<'_>) {
    anstream::stderr()
        .write_all(harmless(&text.to_string()).as_bytes())
        .ok();
}

/// Replaces the characters that act on a terminal by `\u` and their number, wherever they come from: names, messages, and the output of
/// other programs. Only colours are left.
fn harmless(text: &str) -> String {
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
                // In JSON it stands for the same character.
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
                letter.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The escape sequence at the beginning of a text, if it is one of those with which this program and clap set colours.
fn colour(text: &str) -> Option<&str> {
    const SET: [&str; 7] = ["0", "1", "2", "4", "31", "32", "33"];
    let (codes, _) = text.strip_prefix("\u{1b}[")?.split_once('m')?;
    let is_set = codes.split(';').all(|code| SET.contains(&code));
    is_set.then(|| &text[..codes.len() + 3])
}

/// A bar of so many steps, with a template of indicatif. Hidden where standard error is no terminal, or one that can't move its cursor.
pub(crate) fn progress(steps: usize, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// A line of progress each minute, where standard error is no terminal and shows no bar: whoever reads a log of hours wants to know.
pub(crate) struct Minutes(Option<Instant>);

impl Minutes {
    /// The first line comes after a minute.
    pub(crate) fn begin() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Minutes((!is_terminal).then(Instant::now))
    }

    /// Writes a line, if a minute has passed since the last one.
    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
        const MINUTE: Duration = Duration::from_secs(60);
        if let Some(last) = self.0.as_mut().filter(|last| last.elapsed() >= MINUTE) {
            *last = Instant::now();
            eprintln!("{}", line());
        }
    }
}

/// Words of a command in one line, as a shell takes them.
pub(crate) fn command<'w>(words: impl IntoIterator<Item = &'w String>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| suites::quoted(word)).collect();
    words.join(" ")
}
