//! Examples in the help of each command. Owns the data and its layout; a test checks that each example parses.

use clap::Command;

/// Command → pairs of description and arguments.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "e2e",
        &[
            ("Everything, in real time", "e2e"),
            (
                "One area, in simulated time, with a seed",
                "e2e publisher/value --simulate=7",
            ),
            (
                "See a case fail",
                "e2e publisher/value/maximum --defect publisher-ignores-maximum",
            ),
            (
                "A quarter of the cases on this machine",
                "e2e --shard 1/4 --output report",
            ),
        ],
    ),
    (
        "conformance",
        &[
            (
                "A program of yours as a gate",
                "conformance --sut sut.yaml --output report",
            ),
            (
                "A gate for a program that fails today",
                "conformance --sut sut.yaml --accept",
            ),
            (
                "How often a case fails",
                "conformance --sut sut.yaml --measure=20 publisher/prior",
            ),
        ],
    ),
    (
        "record",
        &[(
            "Runs that a test judges again",
            "record --sut sut.yaml --output suites/tests/fixtures/runs",
        )],
    ),
    (
        "list",
        &[
            ("What is skipped for a program, and why", "list --sut sut.yaml"),
            ("What shows a requirement", "list --requirement PUB-21"),
        ],
    ),
    (
        "why",
        &[
            (
                "A pod of the cluster that kubectl uses",
                "why pod ledger-0 -n payments",
            ),
            ("A claim that you think of", "why claim --class fast --size 20Gi"),
            ("From a dump", "why pod ledger-0 -n payments --file dump.yaml"),
        ],
    ),
    (
        "repro",
        &[
            ("The cases of a file", "repro bug.yaml"),
            ("Two systems side by side", "repro bug.yaml --compare sut.yaml"),
            ("Leave the cluster up for kubectl", "repro bug.yaml --keep"),
        ],
    ),
    (
        "capture",
        &[
            (
                "A pod's situation, without names",
                "capture --pod payments/ledger-0 --scrub -o bug.yaml",
            ),
            ("From a dump", "capture --file dump.yaml -o bug.yaml"),
        ],
    ),
    (
        "up",
        &[
            ("The API server alone, for kubectl", "up"),
            ("A scenario's whole cluster", "up bug.yaml"),
        ],
    ),
    (
        "init",
        &[
            (
                "A program of yours",
                "init --role publisher -- ./my-publisher --v=5",
            ),
            (
                "A driver of yours, with what it needs besides",
                "init --role driver -- ./my-driver --capacity=100Gi",
            ),
            (
                "A built-in manifest as a start",
                "init --from external-provisioner",
            ),
        ],
    ),
    (
        "explore",
        &[
            ("Five minutes", "explore --budget 5m"),
            ("One world again", "explore --seed 7 --worlds 1"),
            (
                "A quarter of the worlds on this machine",
                "explore --seed 7 --worlds 10000 --shard 1/4 --output parts/one",
            ),
        ],
    ),
    (
        "sweep",
        &[(
            "Faults at every point of a case",
            "sweep story/volumes/codes/unknown",
        )],
    ),
    (
        "report",
        &[
            (
                "Join two shards",
                "report merge one/report.json two/report.json --output report",
            ),
            (
                "Join what is below a folder, of any command with --shard",
                "report merge --parts parts --output report",
            ),
        ],
    ),
    (
        "completions",
        &[(
            "For bash",
            "completions bash > /etc/bash_completion.d/csi-capacity",
        )],
    ),
];

/// Adds the examples to the help of each command. `program`: the name by which the user calls it.
pub(crate) fn added(command: Command, program: &str) -> Command {
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let lines = examples
            .iter()
            .map(|(what, words)| format!("\n  # {what}\n  {program} {words}"));
        let text = format!("Examples:{}", lines.collect::<String>());
        command.mut_subcommand(name, |sub| sub.after_help(text))
    })
}
