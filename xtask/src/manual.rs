//! Shell completions and manual pages, generated from the clap command. Does not know any command.

use clap::Command;
use clap_complete::Shell;

use crate::Exit;
use crate::out::{eprintln, print};

/// Name of the installed program, whatever name the user called it by.
const NAME: &str = "csi-capacity";

pub(crate) fn completions(shell: Shell, mut command: Command) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut text);
    print!("{}", String::from_utf8_lossy(&text));
    Exit::Passed
}

/// Prints the manual page of the program, or of the command that these words name.
pub(crate) fn print_page(words: &[String], command: Command) -> Exit {
    let mut command = command.bin_name(NAME);
    command.build();
    let mut page = &command;
    for word in words {
        let Some(found) = page.find_subcommand(word) else {
            let above = page.get_bin_name().unwrap_or(NAME);
            eprintln!("error: `{word}` is no command; `{above} --help` lists the commands");
            return Exit::Usage;
        };
        page = found;
    }
    let title: Vec<&str> = [NAME]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
    let mut text = Vec::new();
    if let Err(error) = clap_mangen::Man::new(page.clone())
        .title(title.join("-"))
        .render(&mut text)
    {
        eprintln!("error: the manual page cannot be written: {error}");
        return Exit::Environment;
    }
    print!("{}", String::from_utf8_lossy(&text));
    Exit::Passed
}
