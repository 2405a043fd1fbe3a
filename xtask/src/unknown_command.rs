//! What to say where a word is no command: which commands there are. Knows none of them.

use clap::Command;
use clap::error::{Error, ErrorKind};

use crate::out::{self, eprintln};

/// Prints what the parser has to say of arguments; if a word of them is no command, the names of those that it could have been.
pub(crate) fn tell(error: &Error, program: &Command) {
    let text = error.render();
    match error.use_stderr() {
        true => out::tell(format_args!("{}", text.ansi())),
        false => out::put(format_args!("{}", text.ansi())),
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        let names: Vec<&str> = reached(program)
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        eprintln!("\nCommands: {}", names.join(", "));
    }
}

/// The command as far as the words of the process name commands.
fn reached(program: &Command) -> &Command {
    let mut at = program;
    for word in std::env::args().skip(1) {
        match at.find_subcommand(&word) {
            Some(below) => at = below,
            None => break,
        }
    }
    at
}
