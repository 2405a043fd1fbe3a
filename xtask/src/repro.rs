//! `repro`: runs the cases of one file against the built-in systems or those of a manifest.
//!
//! Thin: reads the file and selects the systems. Does not know how two systems are compared: `side_by_side` does.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use suites::harness::LiveCluster;
use suites::harness::plan::Plan;
use suites::harness::scenario::{self, ScenarioError};
use suites::report::CaseRecord;

use crate::args::default_jobs;
use crate::chosen::{Chosen, ReproArgs};
use crate::interrupt::interrupted;
use crate::keep::Keep;
use crate::kubeconfig_file::KubeconfigFile;
use crate::out::{eprintln, println};
use crate::runner::{Cases, Run, run_cases};
use crate::runtime::runtime;
use crate::serve::{self, Place, Refusal};
use crate::summary::Announcer;
use crate::verdicts::{exit_of_verdicts, is_panic};
use crate::{Exit, preflight, side_by_side};

/// Runs the command.
pub(crate) fn run(args: &ReproArgs) -> Exit {
    attempt(args).unwrap_or_else(|exit| exit)
}

fn attempt(args: &ReproArgs) -> Result<Exit, Exit> {
    let plans = plans(&args.file, &args.rows).map_err(|why| {
        eprintln!("error: {why}");
        Exit::Usage
    })?;
    let chosen = args.chosen()?;
    if let Some(other) = &args.compare {
        let other = match other.to_str() {
            Some("built-in") => Chosen::built_in(None),
            _ => Chosen::of_manifest(other)?,
        };
        return Ok(side_by_side::run(args, plans, [chosen, other]));
    }
    if args.keep {
        return keep(args, plans, chosen);
    }
    Ok(args.repeat.run(|| {
        run_cases(Run {
            cases: Cases::These(
                plans.clone(),
                format!("only the cases of {}", args.file.display()),
            ),
            run: &args.run,
            jobs: default_jobs(&args.run, args.time.simulate),
            simulate: args.time.simulate,
            systems: chosen.systems.clone(),
            manifest: chosen.manifest.clone(),
            defect: chosen.defect,
            record: chosen.record.clone(),
            accept: None,
            dialect: None,
            command: args.command(),
        })
    }))
}

/// The selected cases of a file.
pub(crate) fn plans(file: &Path, rows: &[String]) -> Result<Vec<Plan>, String> {
    let told = |error: ScenarioError| error.to_string();
    let all = scenario::load_file(file).map_err(told)?;
    let is_meant = |id: &str, row: &String| id == row || id.rsplit('/').next() == Some(row);
    if let Some(unknown) = rows
        .iter()
        .find(|row| !all.iter().any(|scenario| is_meant(&scenario.id, row)))
    {
        let ids: Vec<&str> = all.iter().map(|scenario| scenario.id.as_str()).collect();
        return Err(format!(
            "{} has no case `{unknown}`; its cases: {}",
            file.display(),
            ids.join(", ")
        ));
    }
    let meant = all
        .iter()
        .filter(|scenario| rows.is_empty() || rows.iter().any(|row| is_meant(&scenario.id, row)));
    suites::resolved(meant).map_err(told)
}

/// Runs one case, and serves its cluster after the verdict.
fn keep(args: &ReproArgs, plans: Vec<Plan>, chosen: Chosen) -> Result<Exit, Exit> {
    let Ok([plan]) = <[Plan; 1]>::try_from(plans) else {
        eprintln!(
            "error: --keep keeps one cluster; name one case of {}",
            args.file.display()
        );
        return Err(Exit::Usage);
    };
    preflight::temporary_files()?;
    let kubeconfig = KubeconfigFile::of(args.kubeconfig.as_deref())?;
    let (runtime, keep) = (runtime()?, Keep::claim(None)?);
    let session = Arc::new(chosen.session(args, keep.cases(), false));
    let scope = serve::scope(Some(&plan));
    runtime.block_on(async {
        let (result, cluster) = tokio::select! {
            ended = session.run_and_keep(plan) => ended,
            () = interrupted() => return Err(Exit::Interrupted),
        };
        Announcer::new(true).announce(&result);
        let exit = match is_panic(&result) {
            true => Exit::Internal,
            false => exit_of_verdicts(&[CaseRecord::new(&result)]),
        };
        let Some(cluster) = cluster else { return Ok(exit) };
        match serve_until_stopped(&kubeconfig.path, scope, cluster).await {
            Ok(()) => Ok(exit),
            Err(Refusal(refused, why)) => {
                eprintln!("error: {why}");
                Err(if exit == Exit::Failed { exit } else { refused })
            }
        }
    })
}

async fn serve_until_stopped(
    kubeconfig: &Path,
    scope: [String; 2],
    cluster: LiveCluster,
) -> Result<(), Refusal> {
    cluster.drop_old_facts();
    let place = Place {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        kubeconfig,
        plain_http: false,
        scope,
    };
    println!("\nThe cluster stays up as it is now, until Ctrl-C.");
    let sockets = serve::sockets(&cluster);
    let served = match cluster.api() {
        Some(api) => tokio::select! {
            served = serve::serve(api, &sockets, &place) => served,
            () = serve::tell_unattended(cluster.unattended()) => Ok(()),
        },
        // The cluster is served on its own listener already.
        None => Ok(()),
    };
    cluster.stop().await;
    served
}
