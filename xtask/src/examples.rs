//! Examples in the help of each command, from `examples.txt`: description and arguments. A test checks that each parses.

use clap::Command;

/// Adds the examples to the help of each command. `program`: the name by which the user calls this program.
pub(crate) fn with_examples(command: Command, program: &str) -> Command {
    let examples: Vec<(&str, &str)> = include_str!("examples.txt")
        .lines()
        .filter_map(|line| line.split_once(" | "))
        .collect();
    let name = |arguments: &'static str| arguments.split(' ').next().unwrap_or_default();
    let of_commands = examples.chunk_by(|(_, one), (_, next)| name(one) == name(next));
    of_commands.fold(command, |command, examples| {
        let lines = examples
            .iter()
            .map(|(what, arguments)| format!("\n  # {what}\n  {program} {arguments}"));
        let text = format!("Examples:{}", lines.collect::<String>());
        let named = examples
            .first()
            .map(|(_, arguments)| name(arguments))
            .unwrap_or_default();
        command.mut_subcommand(named, |sub| sub.after_help(text))
    })
}
