//! Writes a finding as an ordinary case, and stores the run that showed the finding next to the case. The demands of the specification are
//! written as explicit expectations, if these reproduce the finding.

use std::path::Path;
use std::time::Instant;

use harness::invocation::program;
use harness::judge::verdict;
use harness::oracle::{RequiredState, required_states};
use harness::record;

use super::case::{explicit_case, id, specified_case};
use super::explorer::{Explorer, parse_generated_case};
use super::finding::{Finding, FindingError, Reproduced, WrittenCase};
use super::shrink::until_deadline;
use super::signature::Signature;
use super::text::{CaseHeader, ExcusedRules};
use crate::report::{CaseRecord, write_file};
use crate::session::{CaseResult, Session};

/// Folder for the stored runs of findings, below the folder of the written cases.
const RUNS: &str = "runs";

impl Explorer {
    /// Writes the case of a finding that is not minimized yet. `seen`: the result of the run that showed the finding.
    pub(super) fn write_found(
        &self,
        finding: &Finding,
        seen: CaseRecord,
        folder: &Path,
    ) -> Result<WrittenCase, FindingError> {
        let name = format!("{}-{}.yaml", finding.focus, finding.seed);
        // A cluster can have several findings, so the file name may exist already.
        let mut names = (2..).map(|number| format!("{}-{}-{number}.yaml", finding.focus, finding.seed));
        let name = match folder.join(&name).exists() {
            true => names.find(|name| !folder.join(name).exists()).unwrap_or(name),
            false => name,
        };
        let text = case_with_specification(finding, &finding.signature.to_string());
        write_file(folder, &name, &text)?;
        Ok(WrittenCase {
            file: folder.join(name),
            record: seen,
            repeated: Reproduced::Unknown,
        })
    }

    /// Runs the minimized case, and replaces the case that was written before minimizing.
    pub(super) async fn rewrite_minimized(
        &self,
        finding: &mut Finding,
        folder: &Path,
        until: Option<Instant>,
    ) -> Result<(), FindingError> {
        let checked = until_deadline(until, self.run_as_case(finding, folder))
            .await
            .transpose()?;
        let text = match &checked {
            Some((text, ..)) => text.clone(),
            None => case_with_specification(finding, &finding.signature.to_string()),
        };
        let Some(written) = &mut finding.written else {
            return Ok(());
        };
        if let Some(name) = written.file.file_name().and_then(|name| name.to_str()) {
            write_file(folder, name, &text)?;
        }
        if let Some((_, result, repeated)) = checked {
            written.record = CaseRecord::new(&result);
            written.repeated = repeated;
        }
        Ok(())
    }

    /// Returns a case for the finding, and the result of running the case. The case contains explicit expectations if these reproduce the
    /// finding, otherwise the specification.
    async fn run_as_case(
        &self,
        finding: &Finding,
        folder: &Path,
    ) -> Result<(String, CaseResult, Reproduced), FindingError> {
        let session = Session {
            runs_folder: Some(folder.join(RUNS)),
            keep_passed: true,
            ..self.session(finding.seed)
        };
        let signatures =
            |result: &CaseResult| Signature::violations_of_run(result, session.manifest.as_ref());
        let title = finding.signature.to_string();
        let by_specification = case_with_specification(finding, &title);
        let first = run(&session, &by_specification).await?;
        let explicit = case_with_explicit_expectations(finding, &title, &first, &stored_demands(&first)?);
        // The explicit case is invalid if it has no expectation: some demands cannot be written as expectations, and a rule that applies at
        // every moment demands nothing at the end of a step.
        if parse_generated_case(&explicit).is_ok() {
            let second = run(&session, &explicit).await?;
            if finding.signature.is_shown(&signatures(&second)) {
                return Ok((explicit, second, Reproduced::Yes));
            }
        }
        let again = run(&session, &by_specification).await?;
        let shown = signatures(&again);
        if finding.signature.is_shown(&shown) {
            return Ok((by_specification, again, Reproduced::Yes));
        }
        Ok(match shown.first() {
            None => (by_specification, again, Reproduced::No),
            Some(other) => {
                let other = other.to_string();
                (
                    case_with_specification(finding, &other),
                    again,
                    Reproduced::Otherwise(other),
                )
            }
        })
    }
}

async fn run(session: &Session, text: &str) -> Result<CaseResult, FindingError> {
    Ok(session
        .run_one(parse_generated_case(text).map_err(FindingError::Case)?)
        .await)
}

fn stored_demands(result: &CaseResult) -> Result<Vec<RequiredState>, FindingError> {
    let Some(folder) = &result.folder else {
        let why = result.store_error.clone();
        return Err(FindingError::Case(
            why.unwrap_or_else(|| "the run was not stored".to_owned()),
        ));
    };
    let (plan, facts) = record::load(folder)?;
    let decided = verdict(&plan, facts.iter().cloned());
    // Facts after the failure are left out: they only concern the shutdown.
    let last = decided.failure().map_or(u64::MAX, |failure| failure.decided_by);
    Ok(required_states(
        &plan,
        facts.into_iter().take_while(|fact| fact.seq <= last),
    ))
}

fn case_with_specification(finding: &Finding, title: &str) -> String {
    with_header(finding, title, &[], &finding.excused, |head| {
        specified_case(head, &finding.shrunk.history)
    })
}

/// The case of a finding with explicit expectations: what the specification demanded in a run.
fn case_with_explicit_expectations(
    finding: &Finding,
    title: &str,
    run: &CaseResult,
    demands: &[RequiredState],
) -> String {
    let rule = run.outcome.explained().and_then(|explained| explained.rule);
    let requirements = rule.map(|rule| rule.requirements).unwrap_or_default();
    with_header(finding, title, requirements, &ExcusedRules::new(), |head| {
        explicit_case(head, &finding.shrunk.history, demands)
    })
}

fn with_header(
    finding: &Finding,
    title: &str,
    requirements: &[&'static str],
    excused: &ExcusedRules,
    text: impl FnOnce(&CaseHeader<'_>) -> String,
) -> String {
    text(&CaseHeader {
        id: &id(finding.focus, finding.seed),
        title,
        requirements,
        excused,
        comment: &[format!(
            "Found by `{program} explore --seed {} --worlds 1 --role {}`",
            finding.seed,
            finding.focus,
            program = program()
        )],
    })
}
