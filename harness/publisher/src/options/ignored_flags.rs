//! Flags of external-provisioner that are accepted and ignored, so that its command lines work. The log lists them as flags without effect.

use std::ffi::OsString;

/// Flag name, whether the flag takes a value, and why the flag has no effect.
type IgnoredFlag = (&'static str, bool, &'static str);

const LOGS: &str = "logs are written to standard error as text; set the level with -v or RUST_LOG";
const SNAPSHOTS: &str = "this program creates no snapshots";

const IGNORED: [IgnoredFlag; 26] = [
    ("add_dir_header", false, LOGS),
    ("alsologtostderr", false, LOGS),
    ("automaxprocs", false, "this program uses one thread"),
    (
        "cloning-protection-threads",
        true,
        "one worker removes the cloning-protection finalizers",
    ),
    (
        "connection-timeout",
        true,
        "the program waits for the driver without a timeout",
    ),
    ("enable-pprof", false, "this program has no Go runtime to profile"),
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
    ("provisioner", true, "the driver name is read with GetPluginInfo"),
    ("skip_headers", false, LOGS),
    ("skip_log_headers", false, LOGS),
    ("snapshot-orphan-sweep-interval", true, SNAPSHOTS),
    ("stderrthreshold", true, LOGS),
    ("vmodule", true, LOGS),
];

/// Removes ignored flags from the arguments of a program. Returns the remaining arguments, and for each removed flag a sentence for the
/// log.
pub fn without_ignored_flags(arguments: impl IntoIterator<Item = OsString>) -> (Vec<OsString>, Vec<String>) {
    let (mut remaining, mut removed) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let Some((name, has_value)) = argument.to_str().and_then(flag_name) else {
            remaining.push(argument);
            continue;
        };
        let Some((name, takes_value, why)) = IGNORED.into_iter().find(|(ignored, ..)| *ignored == name)
        else {
            remaining.push(argument);
            continue;
        };
        if takes_value && !has_value {
            arguments.next();
        }
        removed.push(format!("--{name} has no effect: {why}"));
    }
    (remaining, removed)
}

/// The flag name, and whether the argument also contains the value.
fn flag_name(argument: &str) -> Option<(&str, bool)> {
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
    fn ignored_flags_are_removed_with_their_values() {
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
        let (remaining, removed) = without_ignored_flags(arguments.map(OsString::from));
        assert_eq!(
            remaining,
            ["program", "--enable-capacity", "-v=5", "--timeout", "30s"]
        );
        assert_eq!(removed.len(), 3);
        assert!(
            removed[1].starts_with("--snapshot-orphan-sweep-interval has no effect: "),
            "{removed:?}"
        );
    }

    #[test]
    fn flags_with_an_effect_are_not_in_the_ignored_table() {
        let command = <crate::Options as clap::Args>::augment_args(clap::Command::new("program"));
        for (name, ..) in IGNORED {
            let has_effect = command
                .get_arguments()
                .any(|argument| argument.get_long() == Some(name));
            assert!(!has_effect, "--{name}");
        }
        assert!(IGNORED.is_sorted_by_key(|(name, ..)| name), "the table is sorted");
    }
}
