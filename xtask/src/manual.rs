//! What is made of the command line's own description: completions for shells, and manual pages. Knows no command.

use clap::Command;
use clap_complete::Shell;

use crate::Exit;
use crate::out::{eprintln, print};

/// The name under which the program is installed, whatever it was called by.
const NAME: &str = "csi-capacity";

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell, mut command: Command) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut text);
    print!("{}", String::from_utf8_lossy(&text));
    Exit::Passed
}

/// Prints the manual page of the program, or of one of its commands.
pub(crate) fn page(name: Option<&str>, command: Command) -> Exit {
    let mut command = command.bin_name(NAME);
    command.build();
    let page = match name {
        None => command,
        Some(name) => match command.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                eprintln!("error: `{name}` is no command; `{NAME} --help` lists them");
                return Exit::Usage;
            }
        },
    };
    let title = name.map_or_else(|| NAME.to_owned(), |name| format!("{NAME}-{name}"));
    let mut text = Vec::new();
    if let Err(error) = clap_mangen::Man::new(page).title(title).render(&mut text) {
        eprintln!("error: the page can't be written: {error}");
        return Exit::Environment;
    }
    print!("{}", String::from_utf8_lossy(&text));
    Exit::Passed
}
