//! What a recording leaves out: seeded names and secrets must not be found in it, whatever its compression.

use std::path::Path;

use fake_nvml::{Device, Generation, Kind, Process, Scenario};

use crate::support::models::{self, LLAMA};
use crate::support::{Folder, Machine, Program, Task, captures, children, driver};

/// A recording's text, and what was printed meanwhile.
fn recorded(level: &str, name: &str, set: impl FnOnce(Program) -> Program) -> [String; 2] {
    let folder = Folder::new();
    let file = folder.at(name);
    let program = Program::new(["record", "--json", "-i", "0.25", "--count", "2"])
        .arg("--redact")
        .arg(level)
        .arg("-o")
        .arg(&file);
    let ran = set(program).run();
    ran.ended(0);
    [captures::text(&file), ran.text().to_owned()]
}

#[track_caller]
fn lacks(texts: &[String], canaries: &[&str], level: &str) {
    for text in texts {
        let lower = text.to_lowercase();
        for canary in canaries {
            if let Some(at) = lower.find(&canary.to_lowercase()) {
                let start = text.floor_char_boundary(at.saturating_sub(150));
                let end = text.ceil_char_boundary((at + 150).min(text.len()));
                panic!("{canary} at level {level}: …{}…", &text[start..end]);
            }
        }
    }
}

#[track_caller]
fn has(texts: &[String], canaries: &[&str]) {
    for canary in canaries {
        assert!(
            texts[0].contains(canary),
            "{canary} is not in the recording at all"
        );
    }
}

/// Folders, users, hosts.
const PLACES: [&str; 8] = [
    "canaryuser",
    "canaryproject",
    "canaryfolder",
    "canaryhost",
    "canarycwd",
    "canaryunit",
    "canaryenv",
    "canaryroot",
];
/// What nobody may ever read.
const SECRETS: [&str; 7] = [
    "canarykey",
    "canarytoken",
    "canarypassword",
    "canarysecret",
    "canaryprompt",
    "canaryenvkey",
    "canarycredentials",
];
/// Names of models and what else tells what somebody works on.
const NAMES: [&str; 10] = [
    "canarymodel",
    "canarylora",
    "canaryalias",
    "canaryopened",
    "canarynamed",
    "canaryword",
    "canaryrelative",
    "canarycontent",
    // In the file itself: its name and a word of its vocabulary.
    "canaryname",
    "canary",
];

fn machine(folder: &Folder) -> (std::path::PathBuf, Scenario) {
    let machine = Machine::new();
    machine.file("/proc/sys/kernel/hostname", "canaryhost\n");
    machine.file(
        "/etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\ncanaryuser:x:1000:1000:canaryuser:/home/canaryuser:/bin/sh\n",
    );
    let header = models::patched(LLAMA, b"Tiny llama", b"canaryname");
    let header = models::patched(&header, b"<0x41>", b"canary");
    let place = "/home/canaryuser/canaryproject";
    for name in [
        "canarymodel-Q4_K_M.gguf",
        "canarylora.gguf",
        "canaryopened.gguf",
        "canaryrelative.gguf",
    ] {
        machine.file(&format!("{place}/{name}"), models::whole(&header));
    }
    // Its first bytes tell what it is, so they are kept.
    machine.file(
        "/srv/notes.gguf",
        "no model at all, but canarycontent of somebody",
    );
    let mut server = Task::llama_server(4001, &format!("{place}/canarymodel-Q4_K_M.gguf"), "");
    server.exe = format!("{place}/canaryfolder/llama-server");
    // A folder with a dot is no file with an extension.
    server.cwd = format!("{place}/john.canarycwd");
    server.open = vec![
        format!("{place}/canaryopened.gguf"),
        format!("{place}/notes of canarynamed.txt"),
    ];
    server
        .mapped
        .push(format!("{place}/canaryfolder/libllama.so"));
    server.mapped.push("/srv/notes.gguf".to_owned());
    server.cgroup = "0::/user.slice/user-1000.slice/canaryunit.service\n".to_owned();
    server.arguments.extend(
        [
            "--lora",
            &format!("{place}/canarylora.gguf"),
            "--alias",
            "canaryalias",
            "--api-key",
            "canarykey",
            "--hf-token=canarytoken",
            "--ssl-password",
            "canarypassword",
            "--client-secret",
            "canarysecret",
            "-p",
            "canaryprompt and more of it",
            "--system-prompt",
            "canaryprompt",
            "--model-url",
            "https://canaryuser:canarycredentials@example.org/canarymodel.gguf",
            "--tags",
            "canaryword",
            "canaryword",
        ]
        .map(str::to_owned),
    );
    server.environment = [
        "LLAMA_ARG_MODEL=/srv/canaryenv/canarymodel.gguf",
        "LLAMA_API_KEY=canaryenvkey",
        "HF_TOKEN=canarytoken",
        "HF_HOME=/srv/canaryenv/hub",
        "OLLAMA_MODELS=/srv/canaryenv",
        "PASSWORD=canarypassword",
        "HOME=/home/canaryuser",
    ]
    .map(str::to_owned)
    .into();
    let mut relative = Task::llama_server(4002, "canaryrelative.gguf", "");
    relative.cwd = place.to_owned();
    // A title that a program has given itself.
    let mut titled = Task::new(4003, "trainer");
    titled.arguments = vec!["trainer: canaryprompt of canaryuser in canaryproject".to_owned()];
    // The same without a blank at its start, and a server's whole command line as one.
    let mut connected = Task::new(4004, "postgres");
    connected.arguments = vec!["postgres:canaryuser".to_owned()];
    connected.cgroup =
        "0::/canaryunit.service/kubepods-x-podcanaryunit.slice:cri-containerd:canaryunit\n"
            .to_owned();
    connected.mapped.push("/dev/shm/canaryfolder".to_owned());
    connected
        .mapped
        .push("/usr/local/google/home/canaryuser/x.so.canaryfolder".to_owned());
    let mut joined = Task::new(4005, "joined");
    joined.arguments = vec![format!(
        "llama-server -m {place}/canarymodel-7b --api-key canarykey"
    )];
    for task in [&server, &relative, &titled, &connected, &joined] {
        machine.add(task);
    }
    let card = (4001..=4005).fold(Device::new("NVIDIA RTX A4000"), |card, pid| {
        card.with_process(Process::new(pid, Kind::Compute, 1_u64 << 30))
    });
    // Moved, so that the folder's own name is somebody's too.
    let root = folder.at("canaryroot");
    std::fs::rename(machine.path(), &root).unwrap();
    (root, Scenario::default().with_device(card))
}

fn of_a_machine(level: &str, name: &str) -> [String; 2] {
    let folder = Folder::new();
    let (root, scenario) = machine(&folder);
    let driver = driver(Generation::R580, &scenario);
    recorded(level, name, |program| program.driver(&driver).root(&root))
}

const FILES: [&str; 2] = ["capture.ndjson", "capture.ndjson.gz"];

#[test]
fn without_redaction_the_seeds_are_there() {
    let texts = of_a_machine("none", "capture.ndjson");
    has(&texts, &PLACES);
    has(&texts, &NAMES);
    // The reader itself leaves these out.
    lacks(&texts, &["canaryenvkey"], "none");
}

#[test]
fn strict_leaves_out_places_secrets_and_names() {
    for name in FILES {
        let texts = of_a_machine("strict", name);
        lacks(&texts, &SECRETS, "strict");
        lacks(&texts, &PLACES, "strict");
        lacks(&texts, &NAMES, "strict");
        // What it keeps, so that it is worth something.
        for kept in ["llama-server", "Q4_K_M", ".gguf", "--api-key"] {
            assert!(texts[0].contains(kept), "{kept}");
        }
    }
}

#[test]
fn paths_leaves_out_places_and_secrets_and_keeps_the_names_of_files() {
    for name in FILES {
        let texts = of_a_machine("paths", name);
        lacks(&texts, &SECRETS, "paths");
        lacks(&texts, &PLACES, "paths");
        assert!(texts[0].contains("canarymodel-Q4_K_M.gguf"));
    }
}

/// Spellings in which secrets are found on command lines.
const SPELLINGS: [&[&str]; 26] = [
    &["--api-key", "canarykey"],
    &["--api-key=canarykey"],
    &["--api_key", "canarykey"],
    &["--openai.api_key", "canarykey"],
    &["--apikey", "canarykey"],
    &["OPENAI_API_KEY=canarykey"],
    &["--header", "Authorization: Bearer canarytoken"],
    &["-H", "X-Api-Key: canarykey"],
    &["--env", "HF_TOKEN=canarytoken"],
    &["--prompt", "canaryprompt"],
    &["-sys", "canaryprompt"],
    &["--url", "http://canaryuser:canarypassword@127.0.0.1/"],
    &["--api-key", "-canarykey_abc"],
    &["--api-key", "sk-a", "canarykey"],
    &["--api-key:canarykey"],
    &["-pcanarykey"],
    &["--canary2secret"],
    &["-u", "alice:canarypassword"],
    &["--passphrase", "canarypassword"],
    &["--mypwd=canarypassword"],
    &["--ssh-keys", "canarykey"],
    &["env", "HF_TOKEN=canarytoken", "python"],
    &["--set", "api_key=canarykey"],
    &["--x", "{\"token\":\"canarytoken\"}"],
    &["--user", "john.canaryuser"],
    &["--host", "gpu.canaryhost"],
];

#[test]
fn secrets_go_in_every_spelling_at_every_level_but_none() {
    let machine = Machine::new();
    let mut card = Device::new("NVIDIA RTX A4000");
    for (pid, spelling) in (4001..).zip(SPELLINGS) {
        let mut task = Task::new(pid, "worker");
        task.arguments
            .extend(spelling.iter().map(|text| (*text).to_owned()));
        machine.add(&task);
        card = card.with_process(Process::new(pid, Kind::Compute, 1_u64 << 20));
    }
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    let mut left = Vec::new();
    for level in ["strict", "paths"] {
        let texts = recorded(level, "capture.ndjson", |program| {
            program.driver(&driver).root(machine.path())
        });
        for line in texts[0].lines().filter(|line| line.contains("canary")) {
            let at = line.find("cmdline").unwrap_or_default();
            left.push(format!("{level}: {}", line.get(at..).unwrap_or(line)));
        }
    }
    assert!(left.is_empty(), "\n{}", left.join("\n"));
}

#[test]
fn the_driver_s_identifiers_are_replaced_below_none() {
    let mut card = Device::new("NVIDIA RTX A4000");
    card.uuid = "GPU-0ca7a6ed-1111-4222-8333-444455556666".to_owned();
    card.serial = Some("1654224000001".to_owned());
    let scenario = Scenario::default().with_device(card);
    let driver = driver(Generation::R580, &scenario);
    for (level, there) in [("strict", false), ("paths", false), ("none", true)] {
        let texts = recorded(level, "capture.ndjson", |program| program.driver(&driver));
        assert_eq!(texts[0].contains("0ca7a6ed"), there, "{level}");
        assert!(
            !texts[0].contains("1654224000001"),
            "a serial number is nobody's business"
        );
    }
}

/// The same with a real process: its own binary in a folder, a real command line, a real open file.
#[test]
fn a_real_process_gives_nothing_away() {
    let folder = Folder::new();
    let place = folder.folder("canaryproject/canaryfolder");
    let program = place.join("llama-server");
    std::fs::hard_link(std::env::current_exe().unwrap(), &program)
        .or_else(|_| std::fs::copy(std::env::current_exe().unwrap(), &program).map(drop))
        .unwrap();
    let header = models::patched(LLAMA, b"Tiny llama", b"canaryname");
    let model = folder.write(
        "canaryproject/canarymodel-q8_0.gguf",
        models::whole(&header),
    );
    let arguments = [
        "-m",
        path(&model),
        "--api-key",
        "canarykey",
        "-p",
        "canaryprompt",
        "--alias",
        "canaryalias",
    ];
    let server = children::Start::new(path(&program), &arguments)
        .program(&program)
        .holding(&model)
        .start();
    let scenario = Scenario::default().with_device(
        Device::new("NVIDIA RTX A4000").with_process(Process::new(
            server.pid(),
            Kind::Compute,
            1_u64 << 30,
        )),
    );
    let driver = driver(Generation::R580, &scenario);
    for name in FILES {
        let strict = recorded("strict", name, |program| program.driver(&driver));
        lacks(&strict, &["canary"], "strict");
        let paths = recorded("paths", name, |program| program.driver(&driver));
        lacks(&paths, &SECRETS, "paths");
        lacks(&paths, &PLACES, "paths");
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
