//! Writing to standard output and standard error, where either may be full or gone.
//!
//! Knows nothing of what is said. A reader that has gone, as `head` does, is no reason to end: what is said from then on is lost, and the
//! exit code still gives the result. Any other error ends the command, and in order: everything is cleaned up.

use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Standard output can't be written.
pub(crate) struct Unwritable;

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

/// Writes to standard output.
pub(crate) fn put(text: Arguments<'_>) {
    let mut stream = anstream::stdout();
    match stream.write_fmt(text).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell(format_args!(
                "error: standard output can't be written: {error}; send it somewhere else\n"
            ));
            // Unwinds to `main` without the words of a panic, which this is not.
            std::panic::resume_unwind(Box::new(Unwritable));
        }
        _ => {}
    }
}

/// Writes to standard error. Where that fails, nobody is left to read it.
pub(crate) fn tell(text: Arguments<'_>) {
    anstream::stderr().write_fmt(text).ok();
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
