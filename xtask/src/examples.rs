//! Examples in the help of each command. Owns the examples and their layout; a test checks that each example can be parsed.

use clap::Command;

/// Per command: pairs of description and arguments.
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
                "Your program, as a gate in CI",
                "conformance --sut sut.yaml --output report",
            ),
            (
                "Accept the failures of today, as a gate for new ones",
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
            "Store runs as regression tests",
            "record --sut sut.yaml --output suites/tests/fixtures/runs",
        )],
    ),
    (
        "list",
        &[
            ("What is skipped for a program, and why", "list --sut sut.yaml"),
            (
                "The cases and other evidence of a requirement",
                "list --requirement PUB-21",
            ),
        ],
    ),
    (
        "why",
        &[
            (
                "A pod of the cluster that kubectl uses",
                "why pod ledger-0 -n payments",
            ),
            ("A hypothetical claim", "why claim --class fast --size 20Gi"),
            (
                "From kubectl's output",
                "why pod ledger-0 -n payments --file dump.yaml",
            ),
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
                "The cluster state around a pod, with neutral names",
                "capture --pod payments/ledger-0 --scrub -o bug.yaml",
            ),
            ("From kubectl's output", "capture --file dump.yaml -o bug.yaml"),
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
            ("Your program", "init --role publisher -- ./my-publisher --v=5"),
            (
                "Your driver, with a flag of its own",
                "init --role driver -- ./my-driver --capacity=100Gi",
            ),
            (
                "A built-in manifest as a template",
                "init --from external-provisioner",
            ),
        ],
    ),
    (
        "explore",
        &[
            ("Five minutes", "explore --budget 5m"),
            ("One generated cluster again", "explore --seed 7 --worlds 1"),
            (
                "A quarter of the clusters on this machine",
                "explore --seed 7 --worlds 10000 --shard 1/4 --output parts/one",
            ),
        ],
    ),
    (
        "sweep",
        &[(
            "A fault at every fault point of a case",
            "sweep story/volumes/codes/unknown",
        )],
    ),
    (
        "report",
        &[
            (
                "Merge two shards",
                "report merge one/report.json two/report.json --output report",
            ),
            (
                "Merge all shards below a folder, of any command with --shard",
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

/// Adds the examples to the help of each command. `program`: the name by which the user calls this program.
pub(crate) fn added(command: Command, program: &str) -> Command {
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let lines = examples
            .iter()
            .map(|(what, words)| format!("\n  # {what}\n  {program} {words}"));
        let text = format!("Examples:{}", lines.collect::<String>());
        command.mut_subcommand(name, |sub| sub.after_help(text))
    })
}
