//! `rbac`: derives the minimal RBAC rules from the requests that programs send in cases, and verifies that the rules suffice.
//!
//! Only runs the cases: `harness::permissions` turns requests into rules.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use suites::harness::journal::Fact;
use suites::harness::judge::Verdict;
use suites::harness::manifest::Manifest;
use suites::harness::permissions::{denied_requests, minimal_rules};
use suites::harness::plan::{Grants, Plan};
use suites::harness::report::Paint;
use suites::harness::scenario::{GrantSpec, Role};
use suites::harness::{self, RunOptions, StartError};

use crate::args::{SelectArgs, patience};
use crate::interrupt::interrupted;
use crate::out::{eprintln, println};
use crate::repro_args::SystemsUnderTest;
use crate::runner::options;
use crate::runtime::runtime;
use crate::selected::selected;
use crate::{Exit, preflight};

/// Arguments of `rbac`.
#[derive(Args)]
pub(crate) struct RbacArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// Derive the rules for the programs of this manifest in real time, instead of the references in simulated time
    #[arg(long, value_name = "FILE")]
    sut: Option<PathBuf>,
    /// Scale all timeouts by this factor, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    patience: f64,
}

/// Runs the selected cases to derive the rules, and again to verify them.
pub(crate) fn run(args: &RbacArgs) -> Result<Exit, Exit> {
    let under_test = SystemsUnderTest::new(args.sut.as_deref(), None)?;
    let plans = plans(&args.select, under_test.manifest.as_ref())?;
    preflight::temporary_files()?;
    let roles = roles(&under_test, &plans);
    let options = RunOptions {
        seed: args.sut.is_none().then_some(0),
        ..options(args.patience, under_test.manifest.as_ref(), None)
    };
    let runner = Runner { under_test, options };
    runtime()?.block_on(async {
        tokio::select! {
            exit = runner.derive(&plans, &roles) => exit,
            () = interrupted() => {
                eprintln!("interrupted: rules that were printed are not verified, and none are printed before all cases have run");
                Err(Exit::Interrupted)
            }
        }
    })
}

/// The selected cases from which rules can be derived, adapted to the programs. Leaves out cases that set RBAC rules themselves.
fn plans(select: &SelectArgs, manifest: Option<&Manifest>) -> Result<Vec<Plan>, Exit> {
    let mut plans = Vec::new();
    for plan in selected(select)? {
        let own = (!plan.grants.is_empty())
            .then(|| "the case itself sets the permissions of each program".to_owned());
        if let Some(why) = own.or_else(|| manifest?.skip_reason(&plan)) {
            eprintln!("skip  {}: {why}", plan.id());
            continue;
        }
        plans.push(match manifest {
            None => plan,
            Some(manifest) => manifest
                .adapt(&plan)
                .map_err(|error| Exit::Usage.with_error(error))?,
        });
    }
    match plans.is_empty() {
        true => Err(Exit::NoCases),
        false => Ok(plans),
    }
}

/// The roles under test that take part in the cases, except drivers, which send no API requests.
fn roles(under_test: &SystemsUnderTest, plans: &[Plan]) -> Vec<Role> {
    let played = |role: &Role| {
        let mut own = under_test.manifest.iter().flat_map(Manifest::roles);
        *role != Role::Driver
            && plans.iter().any(|plan| plan.roles.contains(role))
            && (under_test.manifest.is_none() || own.any(|own| own == *role))
    };
    Role::ALL.into_iter().filter(played).collect()
}

struct Runner {
    under_test: SystemsUnderTest,
    options: RunOptions,
}

impl Runner {
    /// Prints the rules for the requests of the programs, and verifies that the rules suffice.
    async fn derive(&self, plans: &[Plan], roles: &[Role]) -> Result<Exit, Exit> {
        let mut facts = Vec::new();
        for plan in plans {
            facts.extend(self.run(plan).await?);
        }
        let grants = minimal_rules(&facts, roles);
        grants
            .iter()
            .for_each(|(role, rules)| print(&self.name(*role), *role, rules));
        self.verify(plans, &grants, roles).await
    }

    fn name(&self, role: Role) -> String {
        match &self.under_test.manifest {
            Some(manifest) => manifest.name.clone(),
            None => format!("capacity-{}", role.as_str()),
        }
    }

    /// Runs a case and returns its journal. If the case does not pass, the command ends, because the journal may lack requests.
    async fn run(&self, plan: &Plan) -> Result<Vec<Fact>, Exit> {
        let ran = harness::run(
            Arc::new(plan.clone()),
            &self.under_test.systems,
            self.options.clone(),
        )
        .await;
        let outcome = ran.map_err(|error| {
            eprintln!("error: {}: {error}", plan.id());
            match error {
                StartError::Panicked { .. } => Exit::Internal,
                _ => Exit::Environment,
            }
        })?;
        let Some(failure) = outcome.verdict.failure() else {
            return Ok(outcome.journal.since(0));
        };
        let missing = failure.chain.first_missing();
        let missing = missing.map(|link| format!("; {}: {}", link.text, link.note));
        eprintln!(
            "{}  {}: {}{}",
            Paint::of(&std::io::stderr()).bad("FAIL"),
            plan.id(),
            failure.summary,
            missing.unwrap_or_default()
        );
        Err(match outcome.verdict {
            Verdict::Inconclusive(_) => Exit::Inconclusive,
            _ => Exit::Failed,
        })
    }

    /// Runs the cases again with only the derived permissions.
    async fn verify(&self, plans: &[Plan], grants: &Grants, roles: &[Role]) -> Result<Exit, Exit> {
        for plan in plans {
            let facts = self.run(&plan.with_grants(grants)).await.inspect_err(|_| {
                eprintln!(
                    "{} passes with all permissions, but not with the derived permissions",
                    plan.id()
                );
            })?;
            let denied = denied_requests(&facts, roles);
            if let Some(first) = denied.first() {
                let id = plan.id();
                eprintln!(
                    "{id} passes with the derived permissions, but sent a request that these permissions do not allow: {first}"
                );
                return Ok(Exit::Failed);
            }
        }
        let words = match plans.len() {
            1 => "1 case passes".to_owned(),
            number => format!("{number} cases pass"),
        };
        eprintln!("{words} with these permissions and no others, and no request was denied");
        Ok(Exit::Passed)
    }
}

/// Prints a ClusterRole, and a Role for the namespace of the installation, as in a Helm chart.
fn print(name: &str, role: Role, rules: &[GrantSpec]) {
    for (kind, is_here) in [("ClusterRole", false), ("Role", true)] {
        let own: Vec<&GrantSpec> = rules
            .iter()
            .filter(|rule| rule.namespace.is_some() == is_here)
            .collect();
        if own.is_empty() {
            continue;
        }
        println!("---\n# Permissions of the {}.", role.as_str());
        println!("apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\nrules:");
        for rule in own {
            println!("  - apiGroups: {}", yaml_flow_list(&rule.api_groups));
            println!("    resources: {}", yaml_flow_list(&rule.resources));
            println!("    verbs: {}", yaml_flow_list(&rule.verbs));
        }
    }
}

/// A YAML flow list. Only the name of the core API group needs quotes, because it is empty.
fn yaml_flow_list(words: &[String]) -> String {
    let word = |word: &String| {
        if word.is_empty() {
            "\"\"".to_owned()
        } else {
            word.clone()
        }
    };
    format!("[{}]", words.iter().map(word).collect::<Vec<_>>().join(", "))
}
