//! `weftd`: see [`weftd::flags::Flags`] for what it can be told.

use std::process::ExitCode;

use weftd::flags::Flags;

fn main() -> ExitCode {
    let flags = Flags::from_command_line();
    if let Err(error) = weftd::log::start(&flags.log_level, flags.log_format) {
        eprintln!("weftd: {error:#}");
        return ExitCode::from(2);
    }
    match weftd::daemon::run(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weftd: {error:#}");
            ExitCode::FAILURE
        }
    }
}
