//! A run on several machines: its shards, the merge of their reports, and the Jobs that run the shards in a cluster.

use std::path::Path;
use std::process::Command;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use serde_json::Value;

use crate::program::{Serving, run_expecting, text};

const CASES: &str = "publisher/value";

/// Runs a shard with the environment variable of an Indexed Job.
fn run_shard(index: &str, of: &str, output: &Path) -> (Option<i32>, String) {
    let shard = format!("index/{of}");
    let run = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args([
            "e2e",
            "--simulate",
            CASES,
            "--run-id",
            "one",
            "--shard",
            &shard,
            "--output",
        ])
        .arg(output)
        .env("NO_COLOR", "1")
        .env("JOB_COMPLETION_INDEX", index)
        .output()
        .unwrap();
    (run.status.code(), text(&run.stderr))
}

/// The content of a report that must be equal with and without shards.
fn sharding_independent(folder: &Path) -> (Vec<(String, String)>, Value) {
    let record = std::fs::read_to_string(folder.join("report.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let cases = record["cases"].as_array().unwrap().iter();
    let cases = cases.map(|case| (case["id"].to_string(), case["verdict"].to_string()));
    let mut cases: Vec<_> = cases.collect();
    cases.sort();
    (cases, record["limits"].clone())
}

#[test]
fn the_shards_of_an_indexed_job_merge_to_the_full_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let whole = path("whole");
    run_expecting(
        0,
        &["e2e", "--simulate", CASES, "--output", whole.to_str().unwrap()],
    );
    for index in ["0", "1", "2"] {
        let (code, error) = run_shard(index, "3", &path("parts").join(index));
        assert_eq!(code, Some(0), "{error}");
    }
    let merge = |exit| {
        let (parts, output) = (path("parts"), path("parts").join("report"));
        run_expecting(
            exit,
            &[
                "report",
                "merge",
                "--parts",
                parts.to_str().unwrap(),
                "--output",
                output.to_str().unwrap(),
            ],
        )
    };
    merge(0);
    assert_eq!(
        sharding_independent(&path("parts").join("report")),
        sharding_independent(&whole)
    );
    // The merge must ignore the report of an earlier merge in the same folder, and detect missing shards.
    merge(0);
    std::fs::remove_dir_all(path("parts").join("1")).unwrap();
    let (_, error) = merge(6);
    assert!(error.contains("missing shards: 2/3"), "{error}");
}

#[test]
fn a_missing_job_index_is_an_error_that_names_completion_mode() {
    let folder = tempfile::tempdir().unwrap();
    let (code, error) = run_shard("none", "3", folder.path());
    assert_eq!(code, Some(2));
    assert!(error.contains("completionMode: Indexed"), "{error}");
}

/// The arguments of the container of a Job, expanded as in its first pod.
fn arguments(job: &Job) -> Vec<String> {
    let pod = job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    let given = pod.containers[0].args.clone().unwrap();
    let filled = given.into_iter().map(|word| {
        word.replace("$(JOB_COMPLETION_INDEX)", "0")
            .replace("$(JOB)", "1")
    });
    filled.collect()
}

async fn client(kubeconfig: &str) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

#[tokio::test]
async fn an_api_server_accepts_the_jobs_and_the_program_parses_their_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let kubeconfig = kubeconfig.to_str().unwrap();
    let serving = Serving::start(&["up", "--kubeconfig", kubeconfig]);
    let client = client(kubeconfig).await;
    let strict = PostParams {
        field_manager: Some("test".to_owned()),
        ..PostParams::default()
    };
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../docs/jobs")
            .join(name);
        std::fs::read_to_string(path).unwrap()
    };
    let claim: PersistentVolumeClaim = serde_saphyr::from_str(&read("claim.yaml")).unwrap();
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());
    claims.create(&strict, &claim).await.unwrap();
    let jobs: Api<Job> = Api::default_namespaced(client);
    for name in [
        "cases.yaml",
        "explore.yaml",
        "sweep.yaml",
        "selftest.yaml",
        "merge.yaml",
    ] {
        let job: Job = serde_saphyr::from_str(&read(name)).unwrap();
        let made = jobs.create(&strict, &job).await.unwrap();
        let kept = |job: &Job| {
            let spec = job.spec.clone().unwrap();
            (spec.template.spec.unwrap().volumes, spec.backoff_limit_per_index)
        };
        assert_eq!(kept(&made), kept(&job), "no field is dropped");
        let mut words = arguments(&job);
        words.push("--help".to_owned());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
            .args(&words)
            .env("JOB_COMPLETION_INDEX", "0")
            .output();
        assert!(output.unwrap().status.success(), "{words:?}");
    }
    assert!(serving.end("-INT").success());
}
