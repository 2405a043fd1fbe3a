//! Flags of external-provisioner that have nothing to do here: command lines written for it must work, and whoever reads the log must see
//! what had no effect. Knows no flag that means something.

use std::ffi::OsString;

/// A flag, whether a value follows it, and why it has no effect.
type Idle = (&'static str, bool, &'static str);

const LOGS: &str = "the log goes to standard error as text; choose how much with -v or RUST_LOG";
const SNAPSHOTS: &str = "there are no snapshots here";

const IDLE: [Idle; 26] = [
    ("add_dir_header", false, LOGS),
    ("alsologtostderr", false, LOGS),
    ("automaxprocs", false, "one thread is enough here"),
    (
        "cloning-protection-threads",
        true,
        "the workers of claims look after clones",
    ),
    (
        "connection-timeout",
        true,
        "a driver that is not there yet is waited for",
    ),
    ("enable-pprof", false, "there are no profiles of a Go runtime"),
    ("leader-election-type", true, "elections use Leases"),
    ("log-flush-frequency", true, LOGS),
    ("log-json-info-buffer-size", true, LOGS),
    ("log-json-split-stream", false, LOGS),
    ("log-text-info-buffer-size", true, LOGS),
    ("log-text-split-stream", false, LOGS),
    ("log_backtrace_at", true, LOGS),
    ("log_dir", true, LOGS),
    ("log_file", true, LOGS),
    ("log_file_max_size", true, LOGS),
    ("logging-format", true, LOGS),
    ("logtostderr", false, LOGS),
    ("one_output", false, LOGS),
    ("prevent-volume-mode-conversion", false, SNAPSHOTS),
    ("provisioner", true, "the driver tells its name"),
    ("skip_headers", false, LOGS),
    ("skip_log_headers", false, LOGS),
    ("snapshot-orphan-sweep-interval", true, SNAPSHOTS),
    ("stderrthreshold", true, LOGS),
    ("vmodule", true, LOGS),
];

/// Takes the flags without effect out of the arguments of a program; what is left, and a sentence about each that was taken.
pub fn without_idle_flags(arguments: impl IntoIterator<Item = OsString>) -> (Vec<OsString>, Vec<String>) {
    let (mut left, mut taken) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let Some((name, has_value)) = argument.to_str().and_then(flag) else {
            left.push(argument);
            continue;
        };
        let Some((name, takes_value, why)) = IDLE.into_iter().find(|(idle, ..)| *idle == name) else {
            left.push(argument);
            continue;
        };
        if takes_value && !has_value {
            arguments.next();
        }
        taken.push(format!("--{name} has no effect: {why}"));
    }
    (left, taken)
}

/// The name of a flag, and whether its value is in the same argument.
fn flag(argument: &str) -> Option<(&str, bool)> {
    let text = argument.strip_prefix("--")?;
    Some(
        text.split_once('=')
            .map_or((text, false), |(name, _)| (name, true)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_flags_go_with_their_values_and_the_rest_stays() {
        let arguments = [
            "program",
            "--logtostderr",
            "--enable-capacity",
            "--snapshot-orphan-sweep-interval",
            "5m",
            "--logging-format=json",
            "-v=5",
            "--timeout",
            "30s",
        ];
        let (left, taken) = without_idle_flags(arguments.map(OsString::from));
        assert_eq!(left, ["program", "--enable-capacity", "-v=5", "--timeout", "30s"]);
        assert_eq!(taken.len(), 3);
        assert!(
            taken[1].starts_with("--snapshot-orphan-sweep-interval has no effect: "),
            "{taken:?}"
        );
    }

    #[test]
    fn no_flag_is_idle_that_means_something() {
        let command = <crate::Options as clap::Args>::augment_args(clap::Command::new("program"));
        for (name, ..) in IDLE {
            let means = command
                .get_arguments()
                .any(|argument| argument.get_long() == Some(name));
            assert!(!means, "--{name}");
        }
        assert!(IDLE.is_sorted_by_key(|(name, ..)| name), "the table is in order");
    }
}
