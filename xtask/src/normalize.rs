//! Normalises command-line arguments as kubectl does: flags at any position, and KIND/NAME for resources. Also prints errors of argument
//! parsing.

use std::ffi::OsString;

use clap::Command;
use clap::error::{Error, ErrorKind};

use crate::out::{self, eprintln};

/// kubectl flags with a value that may precede the first word of the plugin command.
const WITH_VALUE: [&str; 6] = [
    "-n",
    "--namespace",
    "--context",
    "--cluster",
    "--user",
    "--kubeconfig",
];

/// Moves kubectl's flags from the front to the end of the arguments, and splits `why pod/NAME` into `why pod NAME`.
pub(crate) fn normalized(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.into_iter();
    let mut words: Vec<OsString> = arguments.next().into_iter().collect();
    let mut flags = Vec::new();
    let mut rest = Vec::new();
    while let Some(argument) = arguments.next() {
        let Some(flag) = argument.to_str().filter(|text| is_kubectl_flag(text)) else {
            rest.push(argument);
            break;
        };
        let takes_next = WITH_VALUE.contains(&flag);
        flags.push(argument);
        if takes_next {
            flags.extend(arguments.next());
        }
    }
    rest.extend(arguments);
    words.extend(split_kind_and_name(rest));
    words.extend(flags);
    words
}

/// Whether the argument starts with a flag of kubectl, in one of the forms `-n NS`, `-nNS`, `--namespace NS` and `--namespace=NS`.
fn is_kubectl_flag(argument: &str) -> bool {
    let is_joined = |flag: &&str| match flag.starts_with("--") {
        true => argument
            .strip_prefix(flag)
            .is_some_and(|rest| rest.starts_with('=')),
        false => argument.starts_with(flag) && !argument.starts_with("--"),
    };
    WITH_VALUE.contains(&argument) || WITH_VALUE.iter().any(is_joined)
}

fn split_kind_and_name(words: Vec<OsString>) -> Vec<OsString> {
    let is_why = words.first().is_some_and(|word| word == "why");
    let apart = |(at, word): (usize, OsString)| {
        let parts = word
            .to_str()
            .filter(|_| is_why && at == 1)
            .and_then(|text| text.split_once('/'));
        match parts {
            Some((kind, name)) => vec![kind.into(), name.into()],
            None => vec![word],
        }
    };
    words.into_iter().enumerate().flat_map(apart).collect()
}

/// Prints a clap error and, for an unknown command, the names of the valid commands.
pub(crate) fn print_error(error: &Error, program: &Command) {
    let text = error.render();
    match error.use_stderr() {
        true => out::write_stderr(format_args!("{}", text.ansi())),
        false => out::write_stdout(format_args!("{}", text.ansi())),
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        let names: Vec<&str> = innermost_command(program)
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        eprintln!("\nCommands: {}", names.join(", "));
    }
}

/// The most deeply nested command that the process arguments name.
fn innermost_command(program: &Command) -> &Command {
    let mut at = program;
    for word in std::env::args().skip(1) {
        match at.find_subcommand(&word) {
            Some(below) => at = below,
            None => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(text: &str) -> String {
        let words = normalized(text.split(' ').map(OsString::from));
        words.join(" ".as_ref()).into_string().expect("valid Unicode")
    }

    #[test]
    fn leading_flags_are_moved_and_kind_slash_name_is_split() {
        for (typed, expected) in [
            ("k why pod a -n x", "k why pod a -n x"),
            ("k -n x why pod a", "k why pod a -n x"),
            ("k -nx --context=c why pod/a", "k why pod a -nx --context=c"),
            ("k --context c objects -o json", "k objects -o json --context c"),
            ("k why claim --class c/d", "k why claim --class c/d"),
            ("k capture --pod ns/a", "k capture --pod ns/a"),
            ("k --help", "k --help"),
            ("k -n", "k -n"),
            ("k", "k"),
        ] {
            assert_eq!(ordered(typed), expected, "{typed}");
        }
    }
}
