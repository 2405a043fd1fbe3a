//! Messages for users: what timed out, why a node was rejected, corrections of typos, and the next command to run.

use crate::program::run_expecting;

/// A case with one pod and two nodes, with the given table, placement and time limit.
fn case(table: &str, place: &str, within: &str) -> String {
    format!(
        "
id: mine/words
title: a pod goes where there is room
{table}
cluster: {{nodes: [n1, n2], classes: [fast], backend: {{n1: 20Gi, n2: 5Gi}}}}
steps:
  - id: publish
    expect:
      - capacities: {{fast: {{n1: 20Gi, n2: 5Gi}}}}
        why: one object per node
  - id: place
    do: [{{pod: {{name: app, claims: [{{class: fast, size: 10Gi}}]}}}}]
    expect:
      - placement: {{app: {place}}}
        within: {within}
        why: only n1 has 10Gi
"
    )
}

fn repro(code: i32, text: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("with a space.yaml");
    std::fs::write(&file, text).unwrap();
    let (out, error) = run_expecting(code, &["repro", file.to_str().unwrap()]);
    if code == 1 {
        assert!(out.contains("rerun   cargo xtask repro '/"), "{out}");
    }
    (out, error)
}

#[test]
fn a_failure_reports_how_long_it_waited_and_what_happened_to_the_node() {
    let (out, _) = repro(1, &case("", "n2", "1 refresh"));
    for words in [
        "verdict timed out after ",
        " s (1 refresh of 100 ms, extended until nothing had changed for ",
        "[ ] n2 is chosen for pod app: n1 was chosen, and the pod is bound there  <-- first missing link",
        "harness expectation 1 timed out",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn errors_in_a_case_have_suggestions() {
    let listed = "table:\n  - {row: a, place: n1}\n";
    let maps = "table:\n  columns: [row, place]\n  rows: [{row: a, place: n1}]\n";
    for (text, words) in [
        (
            case("", "pending", "10s"),
            ":16: node `pending` is not defined; write `none` for a pod that the scheduler refuses",
        ),
        (
            case("", "anywhere", "10s"),
            "write `any` for a pod that goes to some node; nodes: n1, n2",
        ),
        (
            case(listed, "$place", "10s"),
            "a table has the keys `columns` and `rows`; write {columns: [row, size],",
        ),
        (
            case(maps, "$place", "10s"),
            "a row of a table is a list of cells in the order of `columns`; write [small, 1Gi]",
        ),
    ] {
        let (_, error) = repro(2, &text);
        let words = words.trim_start_matches(":16: ");
        assert!(error.contains(words), "{words}: {error}");
        assert!(
            error.contains("with a space.yaml:"),
            "the error has no position: {error}"
        );
    }
    let (_, error) = run_expecting(2, &["e2e", "--defect=publisher-ignores-maxima"]);
    assert!(
        error.contains(
            "unknown defect `publisher-ignores-maxima` (did you mean `publisher-ignores-maximum`?)"
        ),
        "{error}"
    );
}

#[test]
fn typos_are_reported_with_position_and_suggestion() {
    let text = case("", "n1", "10s");
    let cluster = |entry: &str| text.replacen("cluster: {", &format!("cluster: {{{entry}, "), 1);
    for (text, words) in [
        (
            text.replace("title:", "titel:"),
            ":3:1: unknown field `titel`, expected one of ",
        ),
        (text.replace("title:", "titel:"), "; did you mean `title`?"),
        (
            case("", "n1", "5 minuts"),
            ":15:17: `5 minuts` is no bound; write `2 refreshes`, ",
        ),
        (
            cluster("gates: {CSIStorageCapacty: true}"),
            ":5:19: `CSIStorageCapacty` is no feature gate of the API server that a case can set (did you mean `CSIStorageCapacity`?)",
        ),
        (
            cluster("orphanAfter: soon"),
            ": `soon` is no duration; write `10s`",
        ),
        (
            cluster("driver: {csiVersion: \"1.99\"}"),
            "is no release of the CSI specification; use one from 1.0 to ",
        ),
        (
            text.replacen("20Gi", "-20Gi", 1),
            "`-20Gi` is not a number of bytes from 0 to 2^64-1; write one such as 10Gi",
        ),
        (
            text.replacen("20Gi", "{maximum: 1Gi}", 1),
            "`maximum` is allowed only with `capacity`; add `capacity`, or remove `maximum`",
        ),
        (
            text.replacen("20Gi", "{capacity: 10Gi, maximum: 20Gi}", 1),
            ":5:59: `maximum` 20Gi is more than `capacity` 10Gi, and no volume is larger than its pool; ",
        ),
        (
            cluster("release: \"1.20\""),
            ":9:9: no CSIStorageCapacity object can exist: in release 1.20 the feature gate is off unless it is set; add \
             `gates: {CSIStorageCapacity: true}` to `cluster`, or expect `nothing`",
        ),
        (
            cluster("release: \"1.18\""),
            ":9:9: no CSIStorageCapacity object can exist: release 1.18 does not serve them; use 1.19 ",
        ),
        (
            text.replacen("steps:\n", "foreignDriver: {}\nsteps:\n", 1),
            "the key `foreignDriver` is called `externalDriver` here; rename it",
        ),
    ] {
        let (_, error) = repro(2, &text);
        assert!(error.contains(words), "{words}: {error}");
        assert!(
            error.contains("with a space.yaml:"),
            "the error has no position: {error}"
        );
    }
}

#[test]
fn a_file_that_is_no_case_is_reported_in_terms_of_the_case_format() {
    let text = case("", "n1", "10s");
    let whole = "do: [{pod: {name: app, claims: [{class: fast, size: 10Gi}]}}]";
    let step = |action: &str| text.replacen(whole, &format!("do:\n      - {action}"), 1);
    let cluster = |entry: &str| text.replacen("cluster: {", &format!("cluster: {{{entry}, "), 1);
    for (text, words) in [
        (
            step("class: {create: now, binding: Immediate}"),
            ":13:30: `class` takes one key, and `binding` follows `create`; to nest it, write \
             `create: {…, binding: …}`, otherwise write a separate entry",
        ),
        (
            step("pod: {name: app}\n        claim: {name: data}"),
            ":14:9: an entry of `do` takes one key, and `claim` follows `pod`; ",
        ),
        (
            step("class: create"),
            ":13:16: `create` needs a value; write `create: …`",
        ),
        (
            step("object: {apiVersion: v1, kind: ConfigMapp, metadata: {name: x, namespace: default}}"),
            ":13:9: no kind `ConfigMapp` is known in `v1`; correct `apiVersion` or `kind`",
        ),
        (
            step(
                "apply: {manager: me, object: {apiVersion: apps/v7, kind: Deployment, metadata: {name: x}}}",
            ),
            ":13:9: no kind `Deployment` is known in `apps/v7`; ",
        ),
        (
            step("object: {apiVersion: v1, kind: Pod, metadata: {name: x, namespace: default}, spec: {}}"),
            ":13:9: the API server refuses Pod x: Pod \"x\" is invalid: spec.containers: Required value; correct the object, or write \
             `attempt: {object: …}` if the case tests the refusal",
        ),
        (
            step("object: pod"),
            ":13:9: an object needs `apiVersion`, `kind` and `metadata`; ",
        ),
        (
            cluster("objects: [{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}]"),
            ".yaml:5:21: the API server refuses the ConfigMap: ConfigMap \"\" is invalid: metadata.name: Required value: ",
        ),
        (step("{}"), ":13:10: expected a map with one key"),
        (step("~"), ":13:9: the value is empty; expected one of backend, "),
        (
            step("removeDriverFault: {id: slow}"),
            ":13:28: `removeDriverFault` takes a string, and no list or map: ",
        ),
        (
            text.replacen(whole, "do: {pod: {name: app}}", 1),
            ":12:9: `do` takes a list: write its entries in brackets",
        ),
        (
            cluster("driver: mine"),
            ":5:19: `driver` takes a map: write its keys in braces",
        ),
        (
            cluster("driver: {name: }"),
            ":5:24: `name` has no value; write one, or leave the key out",
        ),
        (
            cluster("mode: @central"),
            ":5:17: a text without quotes can't begin with `@`; put it in quotes",
        ),
        (text.replacen("    expect", "\texpect", 1), "; indent with spaces"),
        (
            text.replacen("only n1 has 10Gi\n", "\"only n1\n", 1),
            "a text in quotes does not end before this line; close it",
        ),
        (
            format!("{text}---\n{text}"),
            "a second YAML document begins here, but a file has one document",
        ),
    ] {
        let (_, error) = repro(2, &text);
        assert!(error.contains(words), "{words}: {error}");
        assert!(
            error.contains("with a space.yaml:"),
            "the error has no position: {error}"
        );
    }
}

#[test]
fn invalid_arguments_are_reported_with_an_example() {
    for (args, words) in [
        (
            &["e2e", "--simulate=abc"][..],
            "a seed is a whole number from 0 to 2^64-1, such as 7",
        ),
        (
            &["up", "--listen=localhost"],
            "write an IP address and a port, such as 127.0.0.1:6443",
        ),
        (
            &["capture", "--kubeconfig=nonesuch"],
            "name a kubeconfig that can be read",
        ),
        (
            &["why", "objects", "--file=nonesuch.yaml"],
            "; name a file that `kubectl get ",
        ),
        (&["repro", "/dev/null"], "; name a case file"),
        (
            &["discover"],
            "\nCommands: e2e, conformance, list, explain, why, ",
        ),
        (&["report", "html"], "\nCommands: merge, "),
        (&["e2e", "publisher/valeu"], "did you mean `publisher/value`?"),
        (
            &["e2e", "value/maximum"],
            "did you mean `publisher/value/maximum`?",
        ),
    ] {
        let (_, error) = run_expecting(2, args);
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn the_text_of_a_case_runs_and_a_row_of_a_file_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.yaml");
    let file = file.to_str().unwrap();
    for id in ["publisher/value/maximum", "publisher/class/lifecycle/central"] {
        let (text, _) = run_expecting(0, &["explain", "--yaml", id]);
        std::fs::write(file, text).unwrap();
        let (out, _) = run_expecting(0, &["repro", file]);
        assert!(out.contains("1 passed"), "{out}");
    }
    std::fs::write(
        file,
        case(
            "table:\n  columns: [row, place]\n  rows: [[a, n1], [b, n2]]\n",
            "$place",
            "10s",
        ),
    )
    .unwrap();
    let (_, error) = run_expecting(2, &["explain", file]);
    assert!(error.contains("2 cases match; name one of them:"), "{error}");
    let (out, _) = run_expecting(0, &["explain", file, "b"]);
    assert!(
        out.contains("placement: {app: n2}") && out.contains(" repro ") && out.ends_with(" b\n"),
        "{out}"
    );
}

#[test]
fn a_case_is_explained_without_repetitions() {
    let (out, _) = run_expecting(0, &["explain", "publisher/value/maximum"]);
    assert!(
        out.contains("expect  capacities: {fast: {n1: {capacity: 10Gi, maximum: 4Gi}}}"),
        "{out}"
    );
    assert!(
        out.contains("because the pool is fragmented, so the driver reports a maximum below the capacity"),
        "{out}"
    );
    let actions: Vec<&str> = out.lines().filter(|line| line.starts_with("    do ")).collect();
    assert_eq!(
        actions,
        [
            "    do      backend n1 is now 10Gi (largest volume 3Gi)",
            "    do      driver fault added: GetCapacity returns 10737418240 (maximum 0)",
            "    do      backend n1 is now 10Gi",
            "    do      driver fault `zero` removed",
            "    do      backend n1 is now 10Gi (largest volume 5Gi)",
        ],
        "{out}"
    );
}

#[test]
fn a_judged_run_is_rerun_with_its_defect() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let report = report.to_str().unwrap();
    let case = "publisher/value/maximum";
    let run = [
        "e2e",
        case,
        "--defect",
        "publisher-ignores-maximum",
        "--output",
        report,
    ];
    run_expecting(1, &run);
    let (out, _) = run_expecting(1, &["judge", &format!("{report}/cases/publisher.value.maximum")]);
    assert!(
        out.contains(&format!(
            "rerun   cargo xtask e2e --defect=publisher-ignores-maximum {case}"
        )),
        "{out}"
    );
}

#[test]
fn failures_with_the_same_first_missing_link_form_one_group() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let table = "table:\n  columns: [row]\n  rows: [[one], [two]]\n";
    std::fs::create_dir_all(folder.path().join("cases/mine")).unwrap();
    std::fs::write(
        folder.path().join("cases/mine/words.yaml"),
        case(table, "n2", "1 refresh"),
    )
    .unwrap();
    let cases = folder.path().join("cases");
    let (cases, output) = (cases.to_str().unwrap(), output.to_str().unwrap());
    let (out, _) = run_expecting(1, &["e2e", "--simulate=1", "--folder", cases, "--output", output]);
    let link = "n2 is chosen for pod app";
    let group = format!("2 failures have the same first missing link: {link}");
    assert!(out.contains(&group), "{out}");
    assert_eq!(out.matches("<-- first missing link").count(), 1, "{out}");
    let lines = out.lines().filter(|line| line.contains("  as mine/words/"));
    assert_eq!(lines.count(), 1, "{out}");
    for (page, cause) in [
        ("report.html", format!("<strong>{link}</strong>")),
        ("report.md", group),
    ] {
        let text = std::fs::read_to_string(std::path::Path::new(output).join(page)).unwrap();
        assert!(text.contains(&cause), "{page}");
    }
}
