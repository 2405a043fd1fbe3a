//! Tests of the command line: one test program, with a module for each command.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod apiserver;
mod bench;
mod bug_reports;
mod capture;
mod captured_worlds;
mod cli;
mod conformance;
mod docs;
mod environment;
mod explore;
mod first_steps;
mod indexed_job;
mod installed;
mod interrupts;
mod known_failures;
mod kubectl;
mod messages;
mod parts;
mod program;
mod rbac;
mod readme;
mod report;
mod repro;
mod requirements;
mod simulation;
mod study;
mod sweep;
mod up;
mod watch;
mod why;
mod workflows;
