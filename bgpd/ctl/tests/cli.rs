//! The binary `weft` against a fake weftd on a Unix socket: what it asks, what it prints, how it ends.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

#[allow(dead_code, reason = "shared with the unit tests, which use the rest")]
mod fixtures;
mod weftd;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use weft_proto::v1::ListRoutesRequest;
use weft_proto::v1::apply_request::{Mode, SessionReset};
use weft_proto::v1::list_routes_request::{Match, Table};

use crate::weftd::{Answers, Weftd};

fn weft(api: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command
        .args(args)
        .env_remove("WEFT_OUTPUT")
        .env("WEFT_API", api)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(daemon: &Weftd, args: &[&str]) -> Output {
    weft(&daemon.api(), args).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// What a command that must succeed printed.
fn printed(daemon: &Weftd, args: &[&str]) -> String {
    let output = run(daemon, args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stderr(&output), "");
    stdout(&output).to_owned()
}

fn json(daemon: &Weftd, args: &[&str]) -> Value {
    serde_json::from_str(&printed(daemon, args)).unwrap()
}

/// What a command that must fail with this code said.
fn failed(output: &Output, code: i32) -> &str {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    stderr(output)
}

#[test]
fn every_query_prints_a_table() {
    let daemon = Weftd::start(Answers::default());
    for (args, expected) in [
        (&["status"][..], "node node-1, AS 64512"),
        (&["peers"], "mesh/node-2"),
        (&["routes"], "10.244.2.0/26"),
        (&["vteps"], "vxlan.weft"),
        (&["blocks"], "10.244.1.64/26"),
        (
            &["explain", "10.244.2.17"],
            "the longest match of 10.244.2.17",
        ),
        (&["version"], "weftd  0.1.0 on node node-1"),
    ] {
        let text = printed(&daemon, args);
        assert!(text.contains(expected), "{args:?}: {text}");
        assert!(!text.contains('\x1b'), "no colour in a pipe: {text}");
    }
}

#[test]
fn every_query_prints_json() {
    let daemon = Weftd::start(Answers::default());
    let status = json(&daemon, &["status", "-o", "json"]);
    assert_eq!(status["routes"]["prefixes"], 1042);
    let peers = json(&daemon, &["-o", "json", "peers"]);
    assert_eq!(peers["peers"][0]["state"], "STATE_ESTABLISHED");
    assert_eq!(peers["peers"][0]["holdTime"], "90s");
    assert_eq!(peers["peers"][0]["families"][0]["endOfRibReceived"], true);
    let vteps = json(&daemon, &["vteps", "-o", "json"]);
    assert_eq!(vteps["vteps"][1]["fdbInstalled"], false);
    let blocks = json(&daemon, &["blocks", "-o", "json"]);
    assert_eq!(blocks["blocks"][0]["borrowed"][0]["node"], "node-3");
    let explained = json(&daemon, &["explain", "10.244.2.17", "-o", "json"]);
    assert_eq!(explained["asked"], "10.244.2.17");
    let version = json(&daemon, &["version", "-o", "json"]);
    assert_eq!(version["daemon"], "0.1.0");
}

#[test]
fn the_form_of_the_output_may_come_from_the_environment() {
    let daemon = Weftd::start(Answers::default());
    let output = weft(&daemon.api(), &["status"])
        .env("WEFT_OUTPUT", "json")
        .output()
        .unwrap();
    let status: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(status["node"], "node-1");
}

#[test]
fn a_peer_is_found_by_address_and_by_name() {
    let daemon = Weftd::start(Answers::default());
    let by_address = printed(&daemon, &["peers", "192.0.2.1"]);
    assert!(by_address.contains("rack 3, upper switch"), "{by_address}");
    assert!(!by_address.contains("mesh/node-2"), "{by_address}");
    assert_eq!(printed(&daemon, &["peers", "tor-a"]), by_address);

    let unknown = run(&daemon, &["peers", "node-99"]);
    assert_eq!(
        failed(&unknown, 1),
        "weft: no peer is called node-99; `weft peers` lists them\n"
    );
    let nowhere = run(&daemon, &["peers", "192.0.2.99"]);
    assert_eq!(
        failed(&nowhere, 1),
        "weft: no peer has the address 192.0.2.99; `weft peers` lists them\n"
    );
}

#[test]
fn routes_are_asked_for_as_the_command_line_says() {
    let daemon = Weftd::start(Answers::default());
    printed(
        &daemon,
        &[
            "routes",
            "10.244.1.9/16",
            "--within",
            "--peer",
            "node-2",
            "--table",
            "adj-rib-out",
            "--family",
            "ipv4",
            "--limit",
            "7",
        ],
    );
    let asked = ListRoutesRequest {
        table: Table::AdjRibOut.into(),
        peer: "10.0.0.7".into(),
        family: "ipv4-unicast".into(),
        prefix: "10.244.0.0/16".into(),
        r#match: Match::Within.into(),
        limit: 7,
    };
    assert_eq!(daemon.asked_routes(), [asked]);
}

#[test]
fn routes_in_json_are_one_object() {
    let daemon = Weftd::start(Answers::default());
    let routes = json(&daemon, &["routes", "-o", "json"]);
    assert_eq!(routes["routes"].as_array().map(Vec::len), Some(4));
    assert_eq!(routes["routes"][2]["paths"][0]["med"], 10);

    let none = Weftd::start(Answers {
        routes: vec![],
        ..Answers::default()
    });
    let empty = json(&none, &["routes", "-o", "json"]);
    assert_eq!(empty["routes"].as_array().map(Vec::len), Some(0));
    assert_eq!(printed(&none, &["routes"]), "no routes\n");
}

#[test]
fn a_full_table_streams_through() {
    let one = fixtures::routes().remove(1);
    let daemon = Weftd::start(Answers {
        routes: vec![one; 25_000],
        ..Answers::default()
    });
    let text = printed(&daemon, &["routes"]);
    assert!(text.ends_with("25000 routes, 25000 paths\n"));
    let headers = text.lines().filter(|line| line.starts_with("FLAGS"));
    assert_eq!(headers.count(), 1);
    let routes = json(&daemon, &["routes", "-o", "json"]);
    assert_eq!(routes["routes"].as_array().map(Vec::len), Some(25_000));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let one = fixtures::routes().remove(1);
    let daemon = Weftd::start(Answers {
        routes: vec![one; 25_000],
        ..Answers::default()
    });
    for form in ["table", "json"] {
        let mut child = weft(&daemon.api(), &["routes", "-o", form])
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut String::new()).unwrap();
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert_eq!(failed(&output, 0), "");
    }
}

#[test]
fn a_plan_sends_the_manifests_as_they_are() {
    let daemon = Weftd::start(Answers::default());
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("b.yaml"), "kind: Node\n").unwrap();
    std::fs::write(directory.path().join("a.json"), "{}").unwrap();
    let mut child = weft(
        &daemon.api(),
        &[
            "plan",
            "-f",
            directory.path().to_str().unwrap(),
            "-f",
            "-",
            "--scope",
            "lab",
            "--no-session-reset",
        ],
    )
    .stdin(Stdio::piped())
    .spawn()
    .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"kind: IPPool")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(failed(&output, 0), "");
    assert!(stdout(&output).contains("+ session 10.0.0.7 (mesh/node-2)"));

    let asked = daemon.asked_apply().remove(0);
    assert_eq!(asked.scope, "lab");
    assert_eq!(asked.mode(), Mode::Plan);
    assert_eq!(asked.allow_session_reset(), SessionReset::Never);
    let texts: Vec<&str> = asked.manifests.iter().map(|m| m.text.as_str()).collect();
    assert_eq!(texts, ["{}", "kind: Node\n", "kind: IPPool"]);
    assert_eq!(asked.manifests[2].file_name, "stdin");
}

#[test]
fn the_exit_code_of_a_plan_tells_of_changes_when_asked() {
    let changes = Weftd::start(Answers::default());
    let none = Weftd::start(Answers {
        apply: fixtures::unchanged_plan(),
        ..Answers::default()
    });
    let plan = ["plan", "-f", "/dev/null"];
    let plan_with_code = ["plan", "-f", "/dev/null", "--exit-code"];
    assert_eq!(run(&changes, &plan).status.code(), Some(0));
    assert_eq!(run(&changes, &plan_with_code).status.code(), Some(2));
    assert_eq!(run(&none, &plan_with_code).status.code(), Some(0));
}

#[test]
fn refused_manifests_fail_and_every_problem_is_printed() {
    let daemon = Weftd::start(Answers {
        apply: fixtures::refused_plan(),
        ..Answers::default()
    });
    for command in ["plan", "apply", "validate"] {
        let output = run(&daemon, &[command, "-f", "/dev/null"]);
        assert_eq!(
            failed(&output, 1),
            "weft: 2 errors in the manifests; nothing was changed\n"
        );
        assert!(stdout(&output).starts_with("peers.yaml:12: error: BGPPeer/tor-a spec.peerIP: "));
        assert!(stdout(&output).contains("pools.yaml: error: IPPool/default-ipv4: "));
    }
    let modes: Vec<Mode> = daemon
        .asked_apply()
        .iter()
        .map(|asked| asked.mode())
        .collect();
    assert_eq!(modes, [Mode::Plan, Mode::Apply, Mode::Validate]);

    let output = run(&daemon, &["apply", "-f", "/dev/null", "-o", "json"]);
    failed(&output, 1);
    let response: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(response["accepted"], false);
    assert_eq!(response["problems"][0]["line"], 12);
}

#[test]
fn an_absent_manifest_never_reaches_the_daemon() {
    let daemon = Weftd::start(Answers::default());
    let output = run(&daemon, &["apply", "-f", "/nonexistent.yaml"]);
    assert_eq!(
        failed(&output, 1),
        "weft: cannot read /nonexistent.yaml: No such file or directory\n"
    );
    assert!(daemon.asked_apply().is_empty());
}

#[test]
fn a_watch_prints_events_until_interrupted() {
    let daemon = Weftd::start(Answers::default());
    let mut child = weft(&daemon.api(), &["watch", "peer", "route"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let last = lines.find(|line| line.as_ref().unwrap().contains("10.244.7.0/26 gone"));
    assert!(last.is_some());

    let id = Pid::from_raw(child.id().try_into().unwrap());
    kill(id, Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(failed(&output, 0), "");
}

#[test]
fn a_quiet_watch_ends_when_its_reader_leaves() {
    let daemon = Weftd::start(Answers::default());
    let mut child = weft(&daemon.api(), &["watch"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("10.244.7.0/26 gone"));
    // The fake daemon has nothing more to tell: nothing will be written, and no write can fail.
    drop(lines);
    let deadline = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it watches on for nobody");
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(failed(&output, 0), "");
}

#[test]
fn a_watch_in_json_is_one_object_a_line() {
    let daemon = Weftd::start(Answers::default());
    let mut child = weft(&daemon.api(), &["watch", "-o", "json"])
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let events: Vec<Value> = lines
        .take(fixtures::events(fixtures::present()).len())
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert_eq!(events[0]["snapshotBegin"]["lagged"], false);
    assert_eq!(events[1]["upsert"]["peer"]["name"], "peer/tor-a");
    assert_eq!(events[9]["delete"]["kind"], "WATCH_KIND_ROUTE");
    child.wait().unwrap();
}

#[test]
fn a_daemon_that_stops_ends_the_watch_with_an_error() {
    let daemon = Weftd::start(Answers::default());
    let mut child = weft(&daemon.api(), &["watch"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("10.244.7.0/26 gone"));
    let api = daemon.api();
    drop(daemon);
    let output = child.wait_with_output().unwrap();
    let text = failed(&output, 1);
    assert!(
        text.starts_with(&format!("weft: the connection to weftd at {api} broke (")),
        "{text}"
    );
}

#[test]
fn no_daemon_is_said_with_the_address_and_the_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let api = format!("unix://{}/weft.sock", directory.path().display());
    let output = weft(&api, &["status"]).output().unwrap();
    assert_eq!(
        failed(&output, 1),
        format!(
            "weft: no daemon answers at {api} (No such file or directory); is weftd running? \
             Another address: --api or WEFT_API\n"
        )
    );
}

#[test]
fn a_socket_left_behind_is_no_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weft.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let output = weft(&format!("unix://{}", path.display()), &["peers"])
        .output()
        .unwrap();
    assert!(failed(&output, 1).contains("(Connection refused); is weftd running?"));
}

#[test]
fn a_closed_door_is_said_to_be_closed() {
    use std::os::unix::process::CommandExt;

    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root, to become somebody whom the socket is closed to");
        return;
    }
    let daemon = Weftd::start(Answers::default());
    for (path, mode) in [(daemon.directory(), 0o755), (&daemon.socket(), 0o600)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    // Not where cargo put it: nobody need not be able to go there.
    let copy = daemon.directory().join("weft");
    std::fs::copy(env!("CARGO_BIN_EXE_weft"), &copy).unwrap();
    let output = Command::new(copy)
        .args(["--api", &daemon.api(), "status"])
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let text = failed(&output, 1);
    assert!(
        text.contains("(Permission denied); run weft as root"),
        "{text}"
    );
}

#[test]
fn what_is_no_weftd_is_said_to_be_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weft.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        // Until the client leaves.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let output = weft(&format!("unix://{}", path.display()), &["status"])
        .output()
        .unwrap();
    let text = failed(&output, 1);
    assert!(text.contains(path.to_str().unwrap()), "{text}");
    stranger.join().unwrap();
}

#[test]
fn a_daemon_that_hangs_is_not_waited_for_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weft.sock");
    // Accepts by its backlog, and never says a word.
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let api = format!("unix://{}", path.display());
    let output = weft(&api, &["status", "--timeout", "1"]).output().unwrap();
    assert!(
        failed(&output, 1).starts_with(&format!("weft: weftd at {api} did not answer within 1 s"))
    );
}

#[test]
fn the_daemon_s_own_words_are_passed_on() {
    let daemon = Weftd::start(Answers::default());
    let output = run(&daemon, &["explain", "192.0.2.66"]);
    assert_eq!(
        failed(&output, 1),
        "weft: the RIB is being built; ask again in a moment\n"
    );
}

#[test]
fn wrong_usage_ends_with_code_2() {
    let nowhere = "unix:///nonexistent/weft.sock";
    for args in [
        &["--api", "127.0.0.1:50051", "status"][..],
        &["routes", "10.0.0.0/99"],
        &["apply"],
        &["watch", "weather"],
        &["status", "--timeout", "0"],
    ] {
        let output = weft(nowhere, args).output().unwrap();
        failed(&output, 2);
    }
}

#[test]
fn help_into_a_closed_pipe_is_no_panic() {
    let mut child = weft("unix:///nonexistent/weft.sock", &["--help"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!stderr(&output).contains("panicked"), "{output:?}");
}

#[test]
fn the_documentation_names_every_command() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = std::fs::read_to_string(page).unwrap();
    let help = weft("unix:///nonexistent/weft.sock", &["--help"])
        .output()
        .unwrap();
    let commands: Vec<&str> = stdout(&help)
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        assert!(
            page.contains(&format!("$ weft {command}")),
            "{command} is not in docs/cli.md"
        );
    }
}

const NOBODY: u32 = 65534;
