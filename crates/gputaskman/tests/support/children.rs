//! Real processes: this test binary once more, waiting until it is ended.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A process that waits; it is ended with this value.
pub(crate) struct Waiting {
    child: Child,
}

/// How to start one.
pub(crate) struct Start {
    program: PathBuf,
    name: String,
    arguments: Vec<String>,
    holds: Option<PathBuf>,
    serves: Option<(String, PathBuf)>,
    bind: Option<String>,
    network: Option<String>,
}

impl Start {
    /// Under this name (argument 0) and with these arguments behind those of the test harness, which takes whatever
    /// follows `--` for names of tests.
    pub(crate) fn new(name: &str, arguments: &[&str]) -> Self {
        Self {
            program: std::env::current_exe().unwrap(),
            name: name.to_owned(),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            holds: None,
            serves: None,
            bind: None,
            network: None,
        }
    }

    /// From this copy or link of the test binary.
    #[must_use]
    pub(crate) fn program(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// With this file open.
    #[must_use]
    pub(crate) fn holding(mut self, file: &Path) -> Self {
        self.holds = Some(file.to_owned());
        self
    }

    /// Listening on loopback: each request is answered with these bytes, or with nothing where there are none, and
    /// written to the end of `log`.
    #[must_use]
    pub(crate) fn serving(mut self, answer: &str, log: &Path) -> Self {
        self.serves = Some((answer.to_owned(), log.to_owned()));
        self
    }

    /// The same with an answer of its own for each of these paths, and 404 for every other one.
    #[must_use]
    pub(crate) fn serving_at(self, answers: &[(&str, String)], log: &Path) -> Self {
        let routes: std::collections::BTreeMap<&str, &String> = answers
            .iter()
            .map(|(path, answer)| (*path, answer))
            .collect();
        let routes = serde_json::to_string(&routes).unwrap();
        self.serving(&format!("{ROUTES}{routes}"), log)
    }

    /// Listening here instead of on any free port of loopback.
    #[must_use]
    pub(crate) fn at(mut self, address: &str) -> Self {
        self.bind = Some(address.to_owned());
        self
    }

    /// In a network namespace of its own, with this address. Needs full rights; its argument 0 is its path.
    #[must_use]
    pub(crate) fn in_network(mut self, address: &str) -> Self {
        self.network = Some(address.to_owned());
        self
    }

    fn command(&self) -> Command {
        let Some(address) = &self.network else {
            let mut command = Command::new(&self.program);
            command.arg0(&self.name).env_clear();
            return command;
        };
        let prepare = "ip link set lo up && ip addr add \"$0/32\" dev lo && exec \"$@\"";
        let mut command = Command::new("unshare");
        command
            .args(["--net", "sh", "-c", prepare, address])
            .arg(&self.program)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    pub(crate) fn start(self) -> Waiting {
        let mut command = self.command();
        command
            .args(["--ignored", "--exact", "--nocapture"])
            .args(["support::children::waits_until_its_input_ends", "--"])
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(address) = &self.bind {
            command.env("BIND", address);
        }
        if let Some(file) = &self.holds {
            command.env("HOLDS", file);
        }
        if let Some((answer, log)) = &self.serves {
            command.env("SERVES", answer).env("LOG", log);
        }
        let mut child = command.spawn().unwrap();
        // It holds what it has to before it says so.
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("holding") {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "it has ended");
        }
        Waiting { child }
    }
}

impl Waiting {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Ends and is waited for, so that its number is free and not a zombie's.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// As many as there are; cheap enough for hundreds.
pub(crate) fn many(count: usize) -> Vec<Waiting> {
    let start = |_| {
        let mut command = Command::new("/bin/cat");
        command
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        Waiting {
            child: command.spawn().unwrap(),
        }
    };
    (0..count).map(start).collect()
}

#[test]
#[ignore = "the body of a process that other tests start"]
fn waits_until_its_input_ends() {
    let held = std::env::var_os("HOLDS").map(|path| std::fs::File::open(path).unwrap());
    if let Ok(answer) = std::env::var("SERVES") {
        let listener = match std::env::var("BIND") {
            Ok(address) => TcpListener::bind(address),
            Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)),
        };
        let listener = listener.unwrap();
        std::thread::spawn(move || serve(&listener, &answer));
    }
    let mut output = std::io::stdout();
    writeln!(output, "holding").unwrap();
    output.flush().unwrap();
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).unwrap();
    drop(held);
}

/// In front of a table of answers.
const ROUTES: &str = "ROUTES ";
/// In place of an answer: one whose body never ends.
pub(crate) const ENDLESS: &str = "ENDLESS";
/// In place of an answer: one whose body comes a byte at a time.
pub(crate) const DRIPPING: &str = "DRIPPING";

fn serve(listener: &TcpListener, answer: &str) {
    let log = std::env::var_os("LOG").unwrap();
    let routes: Option<std::collections::BTreeMap<String, String>> = answer
        .strip_prefix(ROUTES)
        .map(|routes| serde_json::from_str(routes).unwrap());
    let mut unanswered = Vec::new();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut request = Vec::new();
        let mut head = BufReader::new(stream.try_clone().unwrap());
        while !request.ends_with(b"\r\n\r\n") && head.read_until(b'\n', &mut request).unwrap() > 0 {
        }
        let mut log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        log.write_all(&request).unwrap();
        let text = String::from_utf8_lossy(&request);
        let path = text.split_whitespace().nth(1).unwrap_or_default();
        let answer = match &routes {
            Some(routes) => routes.get(path).map_or(NOT_FOUND, String::as_str),
            None => answer,
        };
        match answer {
            "" => unanswered.push(stream),
            ENDLESS | DRIPPING => {
                let is_slow = answer == DRIPPING;
                std::thread::spawn(move || pour(stream, is_slow));
            }
            // The program may have given up already.
            answer => drop(stream.write_all(answer.as_bytes())),
        }
    }
}

const NOT_FOUND: &str =
    "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

/// A body of two GiB, as fast as it is read or a byte at a time.
fn pour(mut stream: std::net::TcpStream, is_slow: bool) {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n";
    if stream.write_all(head).is_err() {
        return;
    }
    let (_held, never) = std::sync::mpsc::channel::<()>();
    let pace = std::time::Duration::from_millis(20);
    let chunk = if is_slow {
        vec![b' ']
    } else {
        vec![b' '; 64 << 10]
    };
    while stream.write_all(&chunk).is_ok() {
        if is_slow {
            let _nobody = never.recv_timeout(pace);
        }
    }
}
