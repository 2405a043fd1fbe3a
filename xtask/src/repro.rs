//! `repro`: runs the cases of one file against the built-in systems or those of a manifest.
//!
//! Only reads the file and selects the systems. The module `side_by_side` compares two systems.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use suites::harness::LiveCluster;
use suites::harness::plan::Plan;
use suites::harness::scenario::{self, ScenarioError};
use suites::report::CaseRecord;

use crate::args::default_jobs;
use crate::interrupt::interrupted;
use crate::kubeconfig_file::KubeconfigFile;
use crate::out::{eprintln, println};
use crate::repro_args::{ReproArgs, SystemsUnderTest};
use crate::run_folder::RunFolder;
use crate::runner::{Cases, Run, run_cases};
use crate::runtime::runtime;
use crate::serve::{self, ServeError, ServeOptions};
use crate::summary::Announcer;
use crate::verdicts::{exit_of_verdicts, is_panic};
use crate::{Exit, preflight, side_by_side};

pub(crate) fn run(args: &ReproArgs) -> Result<Exit, Exit> {
    let plans = plans(&args.file, &args.rows).map_err(|why| Exit::Usage.with_error(why))?;
    let under_test = args.selected_systems()?;
    if let Some(other) = &args.compare {
        let other = match other.to_str() {
            Some("built-in") => SystemsUnderTest::built_in(None),
            _ => SystemsUnderTest::of_manifest(other)?,
        };
        return side_by_side::run(args, plans, [under_test, other]);
    }
    if args.keep {
        return run_and_serve(args, plans, under_test);
    }
    args.repeat.run(|| {
        run_cases(Run {
            cases: Cases::These(
                plans.clone(),
                format!("only the cases of {}", args.file.display()),
            ),
            run: &args.run,
            jobs: default_jobs(&args.run, args.time.simulate),
            simulate: args.time.simulate,
            systems: under_test.systems.clone(),
            manifest: under_test.manifest.clone(),
            defect: under_test.defect,
            record: under_test.record.clone(),
            accept: None,
            dialect: None,
            command: args.command(),
        })
    })
}

/// The cases of a file that `rows` selects by case id or row name; all cases if `rows` is empty.
pub(crate) fn plans(file: &Path, rows: &[String]) -> Result<Vec<Plan>, String> {
    let text = |error: ScenarioError| error.to_string();
    let all = scenario::load_file(file).map_err(text)?;
    let matches = |id: &str, row: &String| id == row || id.rsplit('/').next() == Some(row);
    if let Some(unknown) = rows
        .iter()
        .find(|row| !all.iter().any(|scenario| matches(&scenario.id, row)))
    {
        let ids: Vec<&str> = all.iter().map(|scenario| scenario.id.as_str()).collect();
        return Err(format!(
            "{} has no case `{unknown}`; its cases: {}",
            file.display(),
            ids.join(", ")
        ));
    }
    let selected = all
        .iter()
        .filter(|scenario| rows.is_empty() || rows.iter().any(|row| matches(&scenario.id, row)));
    suites::resolve_cases(selected).map_err(text)
}

/// `--keep`: runs one case, and serves the cluster of the case after the verdict.
fn run_and_serve(args: &ReproArgs, plans: Vec<Plan>, under_test: SystemsUnderTest) -> Result<Exit, Exit> {
    let Ok([plan]) = <[Plan; 1]>::try_from(plans) else {
        eprintln!(
            "error: --keep keeps one cluster; name one case of {}",
            args.file.display()
        );
        return Err(Exit::Usage);
    };
    preflight::temporary_files()?;
    let kubeconfig = KubeconfigFile::of(args.kubeconfig.as_deref())?;
    let (runtime, run_folder) = (runtime()?, RunFolder::lock(None)?);
    let session = Arc::new(under_test.session(args, run_folder.cases(), false));
    let scope = serve::scope_lines(Some(&plan));
    runtime.block_on(async {
        let (result, cluster) = tokio::select! {
            ended = session.run_and_leave_running(plan) => ended,
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
            Err(ServeError(serve_exit, why)) => {
                eprintln!("error: {why}");
                Err(if exit == Exit::Failed { exit } else { serve_exit })
            }
        }
    })
}

async fn serve_until_stopped(
    kubeconfig: &Path,
    scope: [String; 2],
    cluster: LiveCluster,
) -> Result<(), ServeError> {
    cluster.drop_old_facts();
    let options = ServeOptions {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        kubeconfig,
        plain_http: false,
        scope,
    };
    println!("\nThe cluster keeps running in its current state, until Ctrl-C.");
    let sockets = serve::sockets(&cluster);
    let served = match cluster.api() {
        Some(api) => tokio::select! {
            served = serve::serve(api, &sockets, &options) => served,
            () = serve::print_unattended(cluster.unreconciled_objects()) => Ok(()),
        },
        // A real API server is reachable already, so this program serves nothing.
        None => Ok(()),
    };
    cluster.stop().await;
    served
}
