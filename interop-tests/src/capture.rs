//! What went over a wire: tcpdump records, tshark decodes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;

use crate::netns::Netns;
use crate::process::{Cmd, Process};
use crate::wait::wait_until;

/// A recording that runs.
#[derive(Debug)]
pub struct Capture {
    tcpdump: Process,
    file: PathBuf,
}

impl Capture {
    /// Begins to record what passes `interface` (`any` for all) and the pcap filter. Records from its return on.
    ///
    /// # Errors
    /// When tcpdump does not start.
    pub fn start(netns: &Netns, interface: &str, filter: &str) -> Result<Self> {
        let dir = netns.dir()?;
        let file = dir.join(format!("{interface}.pcap"));
        let log = dir.join(format!("{interface}.tcpdump.log"));
        let _ = std::fs::remove_file(&log);
        let tcpdump = netns
            .command("tcpdump")
            .args([
                "-i",
                interface,
                "-U",
                "--immediate-mode",
                "-Z",
                "root",
                "-w",
            ])
            .arg(&file)
            .arg(filter)
            .daemon("tcpdump", log)?;
        wait_until(Duration::from_secs(10), "recording", || {
            tcpdump.ensure_running()?;
            Ok(tcpdump.log_tail(5).contains("listening on").then_some(()))
        })?;
        Ok(Self { tcpdump, file })
    }

    /// Ends the recording; the file is ready to be read then.
    ///
    /// # Errors
    /// When tcpdump does not end.
    pub fn stop(mut self) -> Result<Recording> {
        self.tcpdump.signal(Signal::SIGINT)?;
        self.tcpdump.stop(Duration::from_secs(10))?;
        Ok(Recording {
            file: self.file.clone(),
        })
    }
}

/// A recording that has ended.
#[derive(Debug)]
pub struct Recording {
    file: PathBuf,
}

impl Recording {
    /// One row for each packet that passes tshark's display filter, with the fields asked for. Several occurrences of a
    /// field in one packet are separated by commas. TCP port 179 is decoded as BGP, UDP port 4789 as VXLAN.
    ///
    /// # Errors
    /// When tshark refuses the filter or a field.
    pub fn rows(&self, display_filter: &str, fields: &[&str]) -> Result<Vec<Vec<String>>> {
        let text = Cmd::new("tshark")
            .args(["-n", "-r"])
            .arg(&self.file)
            .args(["-d", "tcp.port==179,bgp", "-d", "udp.port==4789,vxlan"])
            .args(["-Y", display_filter, "-T", "fields", "-E", "separator=/t"])
            .args(fields.iter().flat_map(|field| ["-e", field]))
            .run()?;
        Ok(text
            .lines()
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect())
    }
}
