//! The command line as its users meet it: one program of tests, with a module for each command.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

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
