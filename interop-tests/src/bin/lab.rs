//! `cargo lab`: a cluster of weft nodes in network namespaces.

use std::process::ExitCode;

use clap::Parser;
use interop_tests::lab;

fn main() -> ExitCode {
    match lab::run(&lab::options::Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("FAILED: {error:#}");
            ExitCode::FAILURE
        }
    }
}
