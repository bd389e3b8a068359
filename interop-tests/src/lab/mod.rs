//! The lab: a whole cluster in network namespaces, for people to look around in (`cargo lab`).
//!
//! [`plan`] says who is there, [`network`] wires it, [`manifests`] tells weft, [`tor`] is the router outside, and
//! [`checks`] says whether all of it works. Nothing is left behind, whichever step fails or is interrupted: everything
//! belongs to one [`Sandbox`].

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::daemon::{Speaker, Weft, WeftConfig};
use crate::interrupt;
use crate::sandbox::{Kept, Sandbox, clean_leftovers};

pub mod checks;
pub mod manifests;
pub mod network;
pub mod options;
pub mod plan;
pub mod tor;

use network::Network;
use options::Options;
use plan::Plan;

/// Runs the lab as the command line says.
///
/// # Errors
/// When something can't be built or started, or the cluster does not work.
pub fn run(options: &Options) -> Result<ExitCode> {
    if options.clean {
        let removed = clean_leftovers(Kept::Remove)?;
        if removed.is_empty() {
            println!("nothing to remove");
        } else {
            println!("removed: {}", removed.join(", "));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !nix::unistd::geteuid().is_root() {
        bail!("network namespaces need root: sudo cargo lab");
    }
    let plan = Plan::new(options.nodes)?;
    interrupt::catch_signals()?;
    match build_and_check(options, &plan) {
        Err(_) if interrupt::interrupted() => {
            println!("interrupted; everything is taken down");
            Ok(ExitCode::from(EXIT_INTERRUPTED))
        }
        outcome => outcome,
    }
}

fn build_and_check(options: &Options, plan: &Plan) -> Result<ExitCode> {
    prepare()?;
    let progress = Progress::start();
    let sandbox = if options.keep {
        Sandbox::keepable()?
    } else {
        Sandbox::new()?
    };
    let mut lab = Lab::start(options, plan, &sandbox, &progress)?;
    let passed = match lab.check(options, plan, &progress) {
        Ok(()) => true,
        Err(error) if interrupt::interrupted() => return Err(error),
        Err(error) => {
            println!("\nFAILED: {error:#}\n");
            lab.show_log();
            false
        }
    };
    if passed || options.keep || !options.once {
        lab.show_how_to_look_around(plan);
    }
    if options.keep {
        lab.keep(&sandbox)?;
        println!("\nEverything stays. Remove it with: cargo lab --clean");
    } else if !options.once {
        println!("\nCtrl-C takes everything down.");
        interrupt::wait();
        println!();
    }
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The daemons of a lab, in the order in which they are to end.
struct Lab {
    wefts: Vec<Weft>,
    tor: Box<dyn Speaker>,
    network: Network,
    started: Instant,
}

impl Lab {
    fn start(
        options: &Options,
        plan: &Plan,
        sandbox: &Sandbox,
        progress: &Progress,
    ) -> Result<Self> {
        let network = Network::build(sandbox, plan)?;
        progress.say(&format!(
            "{} nodes, {} pods and a ToR: namespaces, cables, addresses",
            plan.nodes.len(),
            plan.pods().count()
        ));

        let manifests = sandbox.dir().join("manifests");
        std::fs::create_dir_all(&manifests).context("manifests")?;
        for (file_name, yaml) in manifests::cluster(plan) {
            std::fs::write(manifests.join(&file_name), yaml).context(file_name)?;
        }
        let started = Instant::now();
        let tor = tor::start(options.tor, &network.tor, plan)?;
        progress.say(&format!("ToR: {}, AS {}", tor.kind(), plan::TOR_ASN));

        let mut wefts = Vec::new();
        for node in &plan.nodes {
            let config = WeftConfig::new(&node.name).manifests_dir(&manifests);
            wefts.push(Weft::launch(network.netns(&node.name)?, config)?);
        }
        for weft in &wefts {
            weft.wait_ready()?;
        }
        progress.say(&format!(
            "{} weftd, AS {}: answering",
            wefts.len(),
            plan::NODE_ASN
        ));
        Ok(Self {
            wefts,
            tor,
            network,
            started,
        })
    }

    fn check(&self, options: &Options, plan: &Plan, progress: &Progress) -> Result<()> {
        let timeout = ROUTES_TIMEOUT + ROUTES_TIMEOUT_PER_NODE * u32::from(options.nodes);
        let count = checks::wait_for_routes(&self.network, plan, options.tor, timeout)?;
        progress.say(&format!(
            "all {count} routes in all kernels, {:.1} s after the first daemon's start",
            self.started.elapsed().as_secs_f64()
        ));
        let report = checks::ping_everything(&self.network, plan)?;
        progress.say("pinged everything from everywhere");
        println!("\n{report}");
        self.show_first_node()?;
        if !report.is_clean() {
            bail!("some pings were not answered, see above");
        }
        Ok(())
    }

    fn show_first_node(&self) -> Result<()> {
        let Some(weft) = self.wefts.first() else {
            return Ok(());
        };
        for command in ["status", "peers", "routes", "vteps", "blocks"] {
            println!("node1$ weft {command}");
            let text = weft.cli()?.arg(command).run()?;
            let lines: Vec<&str> = text.lines().collect();
            for line in lines.iter().take(SHOWN_LINES) {
                println!("  {line}");
            }
            if lines.len() > SHOWN_LINES {
                println!("  ... {} more lines", lines.len() - SHOWN_LINES);
            }
            println!();
        }
        Ok(())
    }

    fn show_log(&self) {
        if let Some(weft) = self.wefts.first() {
            println!("node1's log ends:\n{}\n", weft.log_tail(15));
        }
    }

    fn show_how_to_look_around(&self, plan: &Plan) {
        let (Some(weft), Some(node)) = (self.wefts.first(), plan.nodes.first()) else {
            return;
        };
        let name = weft.netns().full_name();
        let bin = weft.cli_path().unwrap_or_else(|_| "weft".to_owned());
        let dir = weft.manifests_dir();
        println!("Look around:");
        println!("  export WEFT_API={}", weft.api());
        println!("  {bin} peers");
        println!("  {bin} explain {}", node.block_v4);
        println!("  ip netns exec {name} ip route");
        if let Some(far) = plan.nodes.last().filter(|far| far.name != node.name) {
            let pod = self
                .network
                .netns(&node.vxlan_pod.name)
                .map(|netns| netns.full_name());
            if let (Ok(pod), Some(target)) = (pod, far.vxlan_pod.addresses.first()) {
                println!("  ip netns exec {pod} ping {target}");
            }
        }
        println!(
            "  ls {}      # edit them: weftd takes changes at once",
            dir.display()
        );
        println!("  tail -f {}", weft.log_path().display());
        println!("  ip netns list | grep weft-");
    }

    fn keep(&mut self, sandbox: &Sandbox) -> Result<()> {
        sandbox.keep()?;
        for weft in &mut self.wefts {
            weft.release();
        }
        self.tor.release();
        Ok(())
    }
}

/// Builds weft and installs what the lab needs, showing what that writes.
fn prepare() -> Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("workspace")?;
    run_visibly(Command::new(workspace.join(".ci/setup")).arg("lab"))?;
    if std::env::var_os("WEFT_BIN_DIR").is_none() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let args = [
            "build",
            "--quiet",
            "--profile",
            "lab",
            "-p",
            "weftd",
            "-p",
            "weft",
        ];
        run_visibly(Command::new(cargo).args(args).current_dir(workspace))?;
    }
    Ok(())
}

fn run_visibly(command: &mut Command) -> Result<()> {
    let line = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| line.clone())?;
    loop {
        if let Some(status) = child.try_wait().with_context(|| line.clone())? {
            interrupt::check()?;
            if !status.success() {
                bail!("{line} ended with {status}");
            }
            return Ok(());
        }
        if interrupt::interrupted() {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Lines with the time since the start.
struct Progress(Instant);

impl Progress {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn say(&self, what: &str) {
        println!("[{:6.1} s] {what}", self.0.elapsed().as_secs_f64());
    }
}

/// Lines of each of node1's answers that are shown.
const SHOWN_LINES: usize = 20;
const ROUTES_TIMEOUT: Duration = Duration::from_secs(60);
const ROUTES_TIMEOUT_PER_NODE: Duration = Duration::from_secs(2);
/// As a shell says of a program that SIGINT ended.
const EXIT_INTERRUPTED: u8 = 130;
