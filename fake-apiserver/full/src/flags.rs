//! Command lines in the syntax of pflag: `--name=value`, `--name value`, and `--name` for boolean flags.
//!
//! Does not know which flags exist, except `--help` and `--version`.

use super::out;
use std::collections::BTreeMap;
use std::process::ExitCode;

pub(super) struct Flag {
    pub(super) name: &'static str,
    kind: FlagKind,
    /// The help text; empty for flags that are accepted without effect.
    pub(super) about: &'static str,
}

pub(super) const fn value_flag(name: &'static str, about: &'static str) -> Flag {
    let kind = FlagKind::Value;
    Flag { name, kind, about }
}

pub(super) const fn boolean_flag(name: &'static str, about: &'static str) -> Flag {
    let kind = FlagKind::Switch;
    Flag { name, kind, about }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlagKind {
    /// The flag requires a value: `--name=value` or `--name value`.
    Value,
    /// A boolean flag: `true`, `false`, or no value, which means `true`.
    Switch,
}

/// The flags of a command line: by flag name, all values in the order of the command line.
#[derive(Debug, Default)]
pub(super) struct FlagValues(BTreeMap<&'static str, Vec<String>>);

#[derive(Debug)]
enum ParsedCommandLine {
    Help,
    Flags(FlagValues),
}

/// Parses a command line. The error is the exit code, after the help, the version or an error was printed.
pub(super) fn parse_or_exit(
    known: &[&'static [Flag]],
    about: &str,
    version: &str,
    arguments: &[String],
    usage_error: u8,
) -> Result<FlagValues, ExitCode> {
    match parse(known, arguments) {
        Ok(ParsedCommandLine::Help) => out::stdout(&format!("{about}{}", format_flags(known))),
        Ok(ParsedCommandLine::Flags(typed)) if typed.is_on("version") => out::stdout(version),
        Ok(ParsedCommandLine::Flags(typed)) => return Ok(typed),
        Err(why) => {
            out::stderr_line(&format!("Error: {why}"));
            return Err(ExitCode::from(usage_error));
        }
    }
    Err(ExitCode::SUCCESS)
}

fn parse(known: &[&'static [Flag]], arguments: &[String]) -> Result<ParsedCommandLine, String> {
    let mut typed = FlagValues::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if ["-h", "--help"].contains(&argument.as_str()) {
            return Ok(ParsedCommandLine::Help);
        }
        let Some(long) = argument.strip_prefix("--") else {
            return Err(match argument.strip_prefix('-') {
                Some(short) => format!("unknown shorthand flag: '{}' in -{short}", first_char(short)),
                None => format!("unknown command {argument:?}"),
            });
        };
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let mut all = known.iter().flat_map(|flags| flags.iter());
        let flag = all.find(|flag| flag.name == name.replace('_', "-"));
        let flag = flag.ok_or_else(|| format!("unknown flag: --{name}"))?;
        let value = match (flag.kind, value) {
            (_, Some(value)) => value,
            (FlagKind::Switch, None) => "true".to_owned(),
            (FlagKind::Value, None) => match rest.next() {
                Some(value) => value.clone(),
                None => return Err(format!("flag needs an argument: --{name}")),
            },
        };
        if flag.kind == FlagKind::Switch && parse_bool(&value).is_none() {
            let what = format!("strconv.ParseBool: parsing {value:?}: invalid syntax");
            return Err(format!(
                "invalid argument {value:?} for \"--{name}\" flag: {what}"
            ));
        }
        typed.0.entry(flag.name).or_default().push(value);
    }
    Ok(ParsedCommandLine::Flags(typed))
}

fn first_char(text: &str) -> String {
    text.chars().take(1).collect()
}

fn parse_bool(value: &str) -> Option<bool> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

impl FlagValues {
    /// The last value of a flag, which takes precedence over earlier ones.
    pub(super) fn last(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str)
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.last(name).and_then(parse_bool).unwrap_or_default()
    }

    /// All values of a flag. Each occurrence of the flag may contain several values, separated by commas.
    pub(super) fn split_values(&self, name: &str) -> Vec<&str> {
        let all = self.0.get(name).into_iter().flatten();
        let all = all.flat_map(|value| value.split(','));
        all.map(str::trim).filter(|value| !value.is_empty()).collect()
    }

    /// The value of a flag, parsed as `T`. The error names the flag.
    pub(super) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String>
    where
        T::Err: std::fmt::Display,
    {
        let Some(value) = self.last(name) else {
            return Ok(None);
        };
        let parsed = value.parse().map(Some);
        parsed.map_err(|why| format!("invalid argument {value:?} for \"--{name}\" flag: {why}"))
    }
}

/// Formats the list of flags for the output of `--help`.
fn format_flags(known: &[&'static [Flag]]) -> String {
    let line = |flag: &Flag| {
        let value = if flag.kind == FlagKind::Value {
            " string"
        } else {
            ""
        };
        let about = match flag.about {
            "" => "Accepted without effect.",
            about => about,
        };
        format!("      --{:<44} {about}\n", format!("{}{value}", flag.name))
    };
    let all = known.iter().flat_map(|flags| flags.iter());
    all.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&[Flag]] = &[&[value_flag("port", ""), boolean_flag("on", "")]];

    fn read(words: &[&str]) -> Result<ParsedCommandLine, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse(KNOWN, &words)
    }

    #[test]
    fn values_follow_an_equals_sign_or_a_space() {
        for words in [&["--port=1", "--on"][..], &["--on=true", "--port", "1"]] {
            let Ok(ParsedCommandLine::Flags(typed)) = read(words) else {
                panic!("{words:?} are well formed");
            };
            assert_eq!((typed.last("port"), typed.is_on("on")), (Some("1"), true));
        }
        assert!(matches!(
            read(&["--port=1", "--help"]),
            Ok(ParsedCommandLine::Help)
        ));
    }

    #[test]
    fn errors_name_the_flag() {
        let error_of = |words: &[&str]| read(words).err().unwrap_or_default();
        assert_eq!(error_of(&["--nope=1"]), "unknown flag: --nope");
        assert_eq!(error_of(&["--port"]), "flag needs an argument: --port");
        assert_eq!(error_of(&["-x"]), "unknown shorthand flag: 'x' in -x");
        assert!(error_of(&["--on=maybe"]).starts_with("invalid argument \"maybe\" for \"--on\" flag"));
    }
}
