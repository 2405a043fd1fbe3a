//! Writes a finding as an ordinary case, for people to read and to run: with what the specification demands written out where that shows the
//! same, and beside it the run that it was seen in.

use std::path::{Path, PathBuf};

use harness::invocation::program;
use harness::judge::verdict;
use harness::oracle::{Demands, demands};
use harness::record;

use super::case::{case, explicit_case, id};
use super::explorer::{Explorer, plan};
use super::finding::Finding;
use super::signature::Signature;
use super::text::Head;
use crate::report::{WriteError, write_file};
use crate::session::{CaseResult, Session};

/// Where the runs of findings are, below the folder of the cases.
const RUNS: &str = "runs";

/// A finding that is written down.
pub struct Written {
    /// The case.
    pub file: PathBuf,
    /// What came of it when it ran last.
    pub result: CaseResult,
    /// Whether that was the same as what was found: what depends on chance need not show again.
    pub is_repeated: bool,
}

/// A finding can't be written.
#[derive(Debug, thiserror::Error)]
pub enum FindingError {
    /// The folder can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The run can't be read back.
    #[error(transparent)]
    Read(#[from] record::RecordError),
    /// What was written is no case: a mistake of exploration.
    #[error("{0}")]
    Case(String),
}

impl Explorer {
    /// Writes a finding into a folder.
    pub async fn write(&self, finding: &Finding, folder: &Path) -> Result<Written, FindingError> {
        let session = Session {
            keep: Some(folder.join(RUNS)),
            keep_passed: true,
            ..self.session(finding.seed)
        };
        let by_specification = case(finding.focus, finding.seed, &finding.shrunk.history);
        let first = run(&session, &by_specification).await?;
        let demanded = kept(&first)?;
        let explicit = explicit(finding, &first, &demanded);
        // What is demanded can be such that no list of expectations says it, and what must hold at every moment is in none.
        let second = match plan(&explicit) {
            Ok(_) => Some(run(&session, &explicit).await?),
            Err(_) => None,
        };
        let shows = |result: &CaseResult| Signature::of(result, session.manifest.as_ref()).is_some();
        let (text, result) = match second.filter(|second| shows(second) || !shows(&first)) {
            Some(second) => (explicit, second),
            None => {
                let again = run(&session, &by_specification).await?;
                (by_specification, again)
            }
        };
        let name = format!("{}-{}.yaml", finding.focus, finding.seed);
        write_file(folder, &name, &text)?;
        Ok(Written {
            file: folder.join(name),
            is_repeated: shows(&result),
            result,
        })
    }
}

async fn run(session: &Session, text: &str) -> Result<CaseResult, FindingError> {
    Ok(session.run_one(plan(text).map_err(FindingError::Case)?).await)
}

/// What the specification demanded of each step of a run that was kept.
fn kept(result: &CaseResult) -> Result<Vec<Demands>, FindingError> {
    let Some(folder) = &result.folder else {
        let why = result.unkept.clone();
        return Err(FindingError::Case(
            why.unwrap_or_else(|| "the run was not kept".to_owned()),
        ));
    };
    let (plan, facts) = record::load(folder)?;
    let decided = verdict(&plan, facts.iter().cloned());
    // What follows is the end of the run: nobody is at work any more.
    let last = decided.failure().map_or(u64::MAX, |failure| failure.decided_by);
    Ok(demands(
        &plan,
        facts.into_iter().take_while(|fact| fact.seq <= last),
    ))
}

/// The case with what the specification demanded in a run.
fn explicit(finding: &Finding, run: &CaseResult, demands: &[Demands]) -> String {
    let rule = run.ended.explained().and_then(|explained| explained.rule);
    let requirements = rule.map(|rule| rule.requirements).unwrap_or_default();
    let head = Head {
        id: &id(finding.focus, finding.seed),
        title: &finding.signature.to_string(),
        requirements,
        comment: &[format!(
            "Found by `{program} explore --seed {} --worlds 1 --role {}`",
            finding.seed,
            finding.focus,
            program = program()
        )],
    };
    explicit_case(&head, &finding.shrunk.history, demands)
}
