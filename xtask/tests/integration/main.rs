//! Tests of the command line: one test program, with a module for each command.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod alone;
mod apiserver;
mod bench;
mod capture;
mod captured_worlds;
mod cli;
mod conformance;
mod docs;
mod explore;
mod interrupts;
mod known_failures;
mod kubectl;
mod many;
mod parts;
mod program;
mod rbac;
mod readme;
mod report;
mod reported;
mod repro;
mod requirements;
mod simulation;
mod start;
mod study;
mod surroundings;
mod sweep;
mod up;
mod watch;
mod why;
mod words;
mod workflows;
