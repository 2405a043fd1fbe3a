//! What was typed, in the order in which it is parsed, and what is printed where it is not understood: kubectl takes its flags anywhere, and
//! names a resource as KIND/NAME.

use std::ffi::OsString;

use clap::Command;
use clap::error::{Error, ErrorKind};

use crate::out::{self, eprintln};

/// Flags of kubectl that stand before the first word of a plugin as well as behind it, and take a value.
const WITH_VALUE: [&str; 6] = [
    "-n",
    "--namespace",
    "--context",
    "--cluster",
    "--user",
    "--kubeconfig",
];

/// The arguments with the flags behind the words, and with `why pod/NAME` as `why pod NAME`.
pub(crate) fn in_order(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.into_iter();
    let mut words: Vec<OsString> = arguments.next().into_iter().collect();
    let mut flags = Vec::new();
    let mut rest = Vec::new();
    while let Some(argument) = arguments.next() {
        let Some(flag) = argument.to_str().filter(|text| is_of_kubectl(text)) else {
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
    words.extend(with_kind_apart(rest));
    words.extend(flags);
    words
}

/// `-n NS`, `-nNS`, `--namespace NS` and `--namespace=NS`.
fn is_of_kubectl(argument: &str) -> bool {
    let is_joined = |flag: &&str| match flag.starts_with("--") {
        true => argument
            .strip_prefix(flag)
            .is_some_and(|rest| rest.starts_with('=')),
        false => argument.starts_with(flag) && !argument.starts_with("--"),
    };
    WITH_VALUE.contains(&argument) || WITH_VALUE.iter().any(is_joined)
}

fn with_kind_apart(words: Vec<OsString>) -> Vec<OsString> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(text: &str) -> String {
        let words = in_order(text.split(' ').map(OsString::from));
        words.join(" ".as_ref()).into_string().expect("it was text")
    }

    #[test]
    fn flags_may_come_first_and_a_resource_has_its_kind_before_a_slash() {
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
