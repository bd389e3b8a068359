//! weft: the daemon `weftd`, asked over gRPC, and the command line `weft`.
//!
//! State is read through the API itself, so that a fault of the command line can't hide one of the daemon; tests of the
//! command line use [`Weft::cli`].

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hyper_util::rt::TokioIo;
use ipnet::IpNet;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};
use weft_proto::v1;
use weft_proto::v1::weft_client::WeftClient;

use super::{Announcement, Route, Session, Speaker};
use crate::binaries;
use crate::kernel::Family;
use crate::manifest;
use crate::netns::Netns;
use crate::process::{Cmd, Process};
use crate::timeouts;
use crate::wait::wait_until;

/// How a weftd shall be started.
#[derive(Debug, Clone)]
pub struct WeftConfig {
    /// `--node-name`.
    pub node_name: String,
    /// Manifests from the start: (file name, YAML).
    pub manifests: Vec<(String, String)>,
    /// Manifests of a directory that several daemons share; then [`WeftConfig::manifests`] and
    /// [`Weft::write_manifest`] write there too.
    pub manifests_dir: Option<PathBuf>,
    /// Further flags.
    pub args: Vec<String>,
}

impl WeftConfig {
    /// A daemon for the node of this name.
    pub fn new(node_name: &str) -> Self {
        Self {
            node_name: node_name.to_owned(),
            manifests: Vec::new(),
            manifests_dir: None,
            args: Vec::new(),
        }
    }

    /// Adds a manifest file.
    #[must_use]
    pub fn manifest(mut self, file_name: &str, yaml: &str) -> Self {
        self.manifests.push((file_name.to_owned(), yaml.to_owned()));
        self
    }

    /// Reads manifests from a directory that others may share.
    #[must_use]
    pub fn manifests_dir(mut self, dir: &Path) -> Self {
        self.manifests_dir = Some(dir.to_owned());
        self
    }

    /// Adds flags.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }
}

/// A weftd that runs.
#[derive(Debug)]
pub struct Weft {
    netns: Netns,
    config: WeftConfig,
    process: Process,
    manifests: PathBuf,
    socket: PathBuf,
    dir: PathBuf,
}

impl Weft {
    /// Starts it and waits until its API answers and its manifests are taken.
    ///
    /// # Errors
    /// When it does not start (the text holds its log), or refuses a manifest.
    pub fn start(netns: &Netns, config: WeftConfig) -> Result<Self> {
        let weft = Self::launch(netns, config)?;
        weft.wait_ready()?;
        Ok(weft)
    }

    /// Starts it without waiting: for many at once. Call [`Weft::wait_ready`] then.
    ///
    /// # Errors
    /// When the process can't be started.
    pub fn launch(netns: &Netns, config: WeftConfig) -> Result<Self> {
        let dir = netns.dir()?;
        let manifests = config
            .manifests_dir
            .clone()
            .unwrap_or_else(|| dir.join("manifests"));
        fs::create_dir_all(&manifests).context("manifests")?;
        for (file_name, yaml) in &config.manifests {
            fs::write(manifests.join(file_name), yaml).with_context(|| file_name.clone())?;
        }
        let socket = dir.join("weft.sock");
        let process = spawn(netns, &config, &manifests, &dir)?;
        Ok(Self {
            netns: netns.clone(),
            config,
            process,
            manifests,
            socket,
            dir,
        })
    }

    /// Waits until the API answers, the manifests are read, and none of them was refused.
    ///
    /// # Errors
    /// When that does not come about; the text holds the problems, or the log.
    pub fn wait_ready(&self) -> Result<()> {
        wait_until(
            timeouts::START,
            &format!("answer of weftd on {}", self.netns.name()),
            || {
                self.process.ensure_running()?;
                let status = self.status()?;
                let scope = status.scopes.iter().find(|scope| scope.scope == FILE_SCOPE);
                match scope {
                    Some(scope) if scope.problems.iter().any(is_error) => {
                        bail!("manifests are refused: {:#?}", scope.problems)
                    }
                    Some(_) => Ok(Some(())),
                    None => bail!("the manifests are not read yet"),
                }
            },
        )
    }

    /// Starts it again, with the same state directory, after [`Process::stop`] or [`Process::kill`].
    ///
    /// # Errors
    /// As [`Weft::start`].
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill();
        self.process = spawn(&self.netns, &self.config, &self.manifests, &self.dir)?;
        self.wait_ready()
    }

    /// Writes a manifest file at once (by rename), which the daemon notices by itself.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write_manifest(&self, file_name: &str, yaml: &str) -> Result<()> {
        // Not `.yaml`, so that the daemon does not read it half written.
        let temporary = self.manifests.join(format!(".{file_name}.new"));
        fs::write(&temporary, yaml).with_context(|| file_name.to_owned())?;
        fs::rename(&temporary, self.manifests.join(file_name)).with_context(|| file_name.to_owned())
    }

    /// Removes a manifest file.
    ///
    /// # Errors
    /// When there is none.
    pub fn remove_manifest(&self, file_name: &str) -> Result<()> {
        fs::remove_file(self.manifests.join(file_name)).with_context(|| file_name.to_owned())
    }

    /// The directory given with `--manifests`.
    pub fn manifests_dir(&self) -> &Path {
        &self.manifests
    }

    /// The API's Unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What a user gives as `WEFT_API`.
    pub fn api(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// The command `weft` against this daemon, ready to take arguments.
    ///
    /// # Errors
    /// When the binary is not there.
    pub fn cli(&self) -> Result<Cmd> {
        Ok(self
            .netns
            .command(&binaries::find("weft")?)
            .arg("--api")
            .arg(self.api()))
    }

    /// Where the command `weft` lies.
    ///
    /// # Errors
    /// When it is not there.
    pub fn cli_path(&self) -> Result<String> {
        binaries::find("weft")
    }

    /// The daemon's log.
    pub fn log_path(&self) -> &Path {
        self.process.log()
    }

    /// The last lines of the daemon's log.
    pub fn log_tail(&self, lines: usize) -> String {
        self.process.log_tail(lines)
    }

    /// Runs `weft -o json` with arguments and returns its answer.
    ///
    /// # Errors
    /// When it ends with another code than 0, or what it writes is no JSON.
    pub fn cli_json(&self, args: &[&str]) -> Result<serde_json::Value> {
        let text = self.cli()?.args(["-o", "json"]).args(args).run()?;
        serde_json::from_str(&text).with_context(|| format!("weft {args:?} wrote: {text}"))
    }

    /// One call of the API: `weft.call(async |mut client| client.list_peers(request).await)`.
    ///
    /// # Errors
    /// When the daemon does not answer, or answers with an error status.
    pub fn call<T>(
        &self,
        call: impl AsyncFnOnce(WeftClient<Channel>) -> Result<T, tonic::Status>,
    ) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("runtime for the API")?;
        runtime.block_on(async {
            let client = self.connect().await?;
            tokio::time::timeout(timeouts::START, call(client))
                .await
                .context("the API does not answer")?
                .context("weftd's API")
        })
    }

    /// A client of the API on the runtime at hand, for tests that watch.
    ///
    /// # Errors
    /// When the socket is not there.
    pub async fn connect(&self) -> Result<WeftClient<Channel>> {
        let path = self.socket.clone();
        let channel = Endpoint::from_static("http://weft.sock")
            .connect_timeout(timeouts::START)
            .connect_with_connector(tower::service_fn(move |_| {
                let path = path.clone();
                async move { UnixStream::connect(path).await.map(TokioIo::new) }
            }))
            .await
            .with_context(|| format!("API at {}", self.socket.display()))?;
        Ok(WeftClient::new(channel))
    }

    /// The daemon's status.
    ///
    /// # Errors
    /// As [`Weft::call`].
    pub fn status(&self) -> Result<v1::GetStatusResponse> {
        self.call(async |mut client| {
            Ok(client
                .get_status(v1::GetStatusRequest {})
                .await?
                .into_inner())
        })
    }

    /// All peers.
    ///
    /// # Errors
    /// As [`Weft::call`].
    pub fn peers(&self) -> Result<Vec<v1::Peer>> {
        self.call(async |mut client| {
            let request = v1::ListPeersRequest::default();
            Ok(client.list_peers(request).await?.into_inner().peers)
        })
    }

    /// The routes that a request asks for, all batches together.
    ///
    /// # Errors
    /// As [`Weft::call`].
    pub fn list_routes(&self, request: v1::ListRoutesRequest) -> Result<Vec<v1::Route>> {
        self.call(async |mut client| {
            let mut stream = client.list_routes(request).await?.into_inner();
            let mut routes = Vec::new();
            while let Some(batch) = stream.message().await? {
                routes.extend(batch.routes);
            }
            Ok(routes)
        })
    }

    /// Tunnels and VTEPs.
    ///
    /// # Errors
    /// As [`Weft::call`].
    pub fn vteps(&self) -> Result<v1::ListVtepsResponse> {
        self.call(async |mut client| {
            Ok(client
                .list_vteps(v1::ListVtepsRequest {})
                .await?
                .into_inner())
        })
    }

    /// Blocks, this node's or all.
    ///
    /// # Errors
    /// As [`Weft::call`].
    pub fn blocks(&self, all_nodes: bool) -> Result<Vec<v1::Block>> {
        self.call(async |mut client| {
            let request = v1::ListBlocksRequest { all_nodes };
            Ok(client.list_blocks(request).await?.into_inner().blocks)
        })
    }

    /// Why a prefix is routed as it is.
    ///
    /// # Errors
    /// As [`Weft::call`].
    pub fn explain(&self, prefix: &str) -> Result<v1::ExplainResponse> {
        self.call(async |mut client| {
            let request = v1::ExplainRequest {
                prefix: prefix.to_owned(),
            };
            Ok(client.explain(request).await?.into_inner())
        })
    }
}

impl Speaker for Weft {
    fn kind(&self) -> &'static str {
        "weft"
    }

    fn netns(&self) -> &Netns {
        &self.netns
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn ensure_running(&self) -> Result<()> {
        self.process.ensure_running()
    }

    fn sessions(&self) -> Result<Vec<Session>> {
        self.peers()?
            .into_iter()
            .map(|peer| {
                let state = peer.state();
                let detail = peer.last_down.as_ref().map_or_else(String::new, |down| {
                    format!(
                        "last down by {} {}/{} {}",
                        down.by, down.code, down.subcode, down.text
                    )
                });
                Ok(Session {
                    peer: peer
                        .address
                        .parse()
                        .with_context(|| format!("peer {peer:?}"))?,
                    state: state.as_str_name().trim_start_matches("STATE_").to_owned(),
                    established: state == v1::peer::State::Established,
                    detail,
                })
            })
            .collect()
    }

    fn routes(&self, family: Family) -> Result<Vec<Route>> {
        let request = v1::ListRoutesRequest {
            table: v1::list_routes_request::Table::LocRib.into(),
            family: match family {
                Family::V4 => "ipv4-unicast",
                Family::V6 => "ipv6-unicast",
            }
            .to_owned(),
            ..Default::default()
        };
        let mut routes = Vec::new();
        for route in self.list_routes(request)? {
            let prefix: IpNet = route
                .prefix
                .parse()
                .with_context(|| format!("prefix {}", route.prefix))?;
            for path in &route.paths {
                let found = read_path(prefix, path).with_context(|| format!("path {path:?}"))?;
                routes.push(found);
            }
        }
        Ok(routes)
    }

    /// As an IPAM block of this node, which a pool must hold.
    fn announce(&mut self, announcement: &Announcement) -> Result<()> {
        let Announcement {
            prefix,
            next_hop,
            med,
            local_pref,
            communities,
            large_communities,
            route_targets,
        } = announcement;
        if next_hop.is_some()
            || med.is_some()
            || local_pref.is_some()
            || !(communities.is_empty() && large_communities.is_empty() && route_targets.is_empty())
        {
            bail!("weft announces blocks; their attributes come from BGPConfiguration");
        }
        let yaml = manifest::block(&self.config.node_name, *prefix, &[]);
        self.write_manifest(&block_file(*prefix), &yaml)
    }

    fn withdraw(&mut self, prefix: &str) -> Result<()> {
        let prefix: IpNet = prefix.parse().with_context(|| format!("prefix {prefix}"))?;
        self.remove_manifest(&block_file(prefix))
    }

    fn request_refresh(&mut self, _peer: &str) -> Result<()> {
        bail!("weft keeps what its peers sent, and never has to ask for it again")
    }
}

fn block_file(prefix: IpNet) -> String {
    format!(
        "block-{}.yaml",
        prefix.to_string().replace(['.', ':', '/'], "-")
    )
}

fn is_error(problem: &v1::Problem) -> bool {
    problem.severity() == v1::problem::Severity::Error
}

fn spawn(netns: &Netns, config: &WeftConfig, manifests: &Path, dir: &Path) -> Result<Process> {
    netns
        .command(&binaries::find("weftd")?)
        .args(["--node-name", &config.node_name])
        .arg("--manifests")
        .arg(manifests)
        .arg("--api")
        .arg(format!("unix://{}", dir.join("weft.sock").display()))
        .arg("--state-dir")
        .arg(dir.join("state"))
        .args(["--log-format", "text"])
        .args(&config.args)
        .daemon("weftd", dir.join("weftd.log"))
}

fn read_path(prefix: IpNet, path: &v1::Path) -> Result<Route> {
    let optional = |text: &str| -> Result<Option<IpAddr>> {
        Ok(if text.is_empty() {
            None
        } else {
            Some(text.parse()?)
        })
    };
    let next_hop = path.next_hops.first().map_or("", String::as_str);
    Ok(Route {
        next_hop: optional(next_hop)?,
        from: optional(&path.peer)?,
        best: path.best,
        as_path: path
            .as_path
            .split(|c: char| !c.is_ascii_digit())
            .filter(|asn| !asn.is_empty())
            .map(str::parse)
            .collect::<Result<_, _>>()?,
        local_pref: path.local_pref,
        med: path.med,
        communities: path.communities.clone(),
        large_communities: path.large_communities.clone(),
        route_targets: path
            .extended_communities
            .iter()
            .filter_map(|community| community.strip_prefix("rt:").map(str::to_owned))
            .collect(),
        originator_id: if path.originator_id.is_empty() {
            None
        } else {
            Some(path.originator_id.parse()?)
        },
        cluster_list: path
            .cluster_list
            .iter()
            .map(|id| id.parse::<Ipv4Addr>())
            .collect::<Result<_, _>>()?,
        ..Route::new(prefix)
    })
}

/// The scope that `--manifests` feeds.
const FILE_SCOPE: &str = "file";
