//! Places in which names and secrets were found.

use raw::capture::Redaction::{self, Paths, Strict};
use serde_json::json;

use crate::seen::{
    LEVELS, cgroup, command_line, environment, field, first_bytes, link, maps, model_file,
};

/// None of these words is left of `program` with these arguments.
#[track_caller]
fn hides(level: Redaction, words: &[&str], arguments: &[&str]) -> Vec<String> {
    let line = [&["program"], arguments].concat();
    let got = command_line(level, &line);
    assert_eq!(got.len(), line.len(), "{got:?}");
    for word in words {
        assert!(!got.concat().contains(word), "{level:?}: {line:?} {got:?}");
    }
    got
}

#[test]
fn a_title_goes_as_a_whole() {
    for title in [
        "llama-server -m /home/alice/zorgon-7b --api-key hunter2",
        "sshd: alice@pts/zorgon secret hunter2",
        "postgres:alice",
        "zorgon: master",
        "/opt/x/zorgon\tworker",
        "NAME=zorgon",
        "alice@zorgon",
    ] {
        for level in LEVELS {
            assert_eq!(command_line(level, &[title]), ["<title>"]);
        }
    }
}

#[test]
fn a_plain_program_keeps_its_base_name_only() {
    for level in LEVELS {
        assert_eq!(command_line(level, &["llama-server"]), ["llama-server"]);
        let got = command_line(level, &["/home/zorgon/bin/llama-server"]);
        assert!(got[0].starts_with("/home/d") && got[0].ends_with("/bin/llama-server"));
    }
}

#[test]
fn whatever_follows_a_secret_flag_goes_up_to_the_next_flag() {
    for level in LEVELS {
        for arguments in [
            &["--api-key", "-hunter2_abc", "-c", "8192"][..],
            &["--api-key", "sk-a", "hunter2", "-c", "8192"],
            &["--api-key", "-p", "hunter2", "-c", "8192"],
            &["--api-key", "--hunter2", "-c", "8192"],
            &["--password=a", "hunter2", "-c", "8192"],
            &["--api-key:hunter2", "-c", "8192"],
            &["-password", "hunter2", "-c", "8192"],
            &["--prompt", "my", "hunter2", "-c", "8192"],
            &["--x", "Authorization:", "Bearer", "hunter2", "-c", "8192"],
        ] {
            let got = hides(level, &["hunter2", "sk-a", "Bearer", "my"], arguments);
            assert_eq!(got[got.len() - 2..], ["-c", "8192"], "{got:?}");
        }
    }
}

/// Flags of servers, trainers and clients behind which stands what nobody may read.
const TELLING: &[&str] = &[
    // Secrets.
    "-hft",
    "-k",
    "--session",
    "--pat",
    "--otp",
    "--pw",
    "--license",
    "--serial",
    "--ngrok-authtoken",
    "--gradio-auth",
    "--adminpassword",
    "--admin-key",
    "--cookie",
    "--pwd",
    "--bearer",
    "--credentials",
    "--jwt",
    "--session_id",
    "--pin",
    // Texts.
    "-p",
    "--prompt",
    "--in-prefix",
    "--in-suffix",
    "--in_prefix",
    "--initial-prompt",
    "--instance_prompt",
    "--validation_prompt",
    "--reasoning-budget-message",
    "--query",
    "--text",
    "--message",
    "--system-prompt",
    "-sys",
    "--negative",
    "--caption",
    "--question",
    "--instruction",
    "--input",
    "--stop",
    "--hotwords",
    "--antiprompt",
    "--prompt_file",
    "--neg",
    // Of no flag that is known.
    "--spec-x",
    "--zorgon",
    "--note",
    "--webhook",
];

#[test]
fn of_secrets_and_texts_nothing_stays_at_any_level_that_replaces() {
    for level in [Paths, Strict] {
        for flag in TELLING {
            let attached = format!("{flag}=canary");
            hides(level, &["canary"], &["x-server", flag, "canary"]);
            hides(
                level,
                &["canary"],
                &["x-server", flag, "a canary, and", "-c", "4096"],
            );
            if flag.starts_with("--") {
                hides(level, &["canary"], &["x-server", &attached]);
            }
        }
        // What is a path or a number by its form is none behind a secret or a text.
        for flag in TELLING.iter().take(43) {
            hides(
                level,
                &["canary", "1234567"],
                &["x-server", flag, "1234567", "canary/x.gguf"],
            );
        }
    }
    // Without redaction a command line is what it is.
    let line = ["x-server", "--zorgon", "canary"];
    assert_eq!(crate::seen::command_line(Redaction::None, &line), line);
}

#[test]
fn attached_values_go() {
    for argument in [
        "-phunter2",
        "-uhunter2",
        "--hunter2secret",
        "-hunter2=hunter2",
    ] {
        let got = hides(Strict, &["hunter2"], &[argument]);
        assert!(got[1].starts_with("<flag>"), "{got:?}");
    }
    for argument in [
        "-phunter2",
        "-pzorgon",
        "--hunter2secret",
        "--api-key(hunter2)",
    ] {
        let got = hides(Paths, &["hunter2", "zorgon"], &[argument]);
        assert_eq!(got[1], "<flag>");
    }
    for argument in ["--Zorgon", "--zorgon7", "--x/zorgon", "-Dzorgon", "-zorgo"] {
        hides(Strict, &["zorgo", "Zorgo"], &[argument]);
    }
}

#[test]
fn secrets_are_known_by_any_part_of_a_name() {
    for name in [
        "--pass",
        "--mypwd",
        "--ssh-keys",
        "--hf_tokens",
        "--passphrase",
        "--x.authToken",
        "--client-credentials",
    ] {
        for level in LEVELS {
            hides(level, &["hunter2"], &[name, "hunter2"]);
            hides(level, &["hunter2"], &[&format!("{name}=hunter2")]);
            let variable = name.trim_start_matches('-');
            hides(level, &["hunter2"], &[&format!("{variable}=hunter2")]);
        }
    }
    for level in LEVELS {
        for arguments in [
            &["env", "HF_TOKEN=hunter2", "python"][..],
            &["--set", "api_key=hunter2"],
            &["--set", "a=1,api_key=hunter2"],
            &["--set", "a:api_key=hunter2"],
            &["--x", "{\"token\":\"hunter2\"}"],
            &["--x={\"token\":\"hunter2\"}"],
            &["--x", "[\"hunter2\"]"],
            &["hf_hunter2"],
            &["redis://:hunter2@x/"],
            &["-u", "alice:hunter2"],
            &["-c", "print('hunter2')"],
        ] {
            hides(level, &["hunter2"], arguments);
        }
        assert_eq!(
            environment(level, "LLAMA_API_KEY=hunter2"),
            "LLAMA_API_KEY=<redacted>\0"
        );
    }
}

#[test]
fn what_counts_or_names_a_tokenizer_is_no_secret() {
    for level in LEVELS {
        let line = [
            "vllm",
            "--max-tokens",
            "4096",
            "--max-num-batched-tokens=8192",
        ];
        assert_eq!(command_line(level, &line), line);
        let line = ["vllm", "--tokenizer-mode", "auto", "--skip-tokenizer-init"];
        assert_eq!(command_line(level, &line), line);
        hides(level, &["hunter2"], &["--max-tokens", "hunter2"]);
        hides(level, &["1234"], &["--token", "1234"]);
    }
}

#[test]
fn users_hosts_and_their_folders_go_whatever_they_look_like() {
    for level in LEVELS {
        for arguments in [
            &["--user", "john.zorgon"][..],
            &["--host", "gpu.zorgon"],
            &["--server", "zorgon"],
            &["gpu.zorgon:8080"],
            &["john@zorgon"],
            &["--data-dir", "/home/zorgon.py"],
            &["/home/john.zorgon"],
            &["C:\\Users\\zorgon\\x.txt"],
        ] {
            hides(level, &["zorgon"], arguments);
        }
        for target in ["/home/john.zorgon", "/home/zorgon.py", "/srv/zorgon.gguf"] {
            let (shown, restored) = link(level, "cwd", target);
            assert!(!shown.contains("zorgon"), "{shown}");
            assert_eq!(restored, target);
        }
        assert!(!environment(level, "HF_HOME=/srv/zorgon.bin").contains("zorgon"));
    }
}

#[test]
fn files_below_the_system_s_folders_stay_unless_they_are_models() {
    let line = |path: &str| maps(Strict, &format!("1-2 r--p 0 08:01 5   {path}\n"));
    for path in [
        "/usr/lib/libcuda.so.1",
        "/usr/share/x/y.json",
        "/dev/nvidia0",
    ] {
        assert!(line(path).contains(path), "{}", line(path));
    }
    for path in [
        "/usr/local/google/home/alice/zorgon.gguf",
        "/usr/lib/zorgon.gguf",
        "/dev/shm/zorgon",
        "/memfd:zorgon (deleted)",
        "/home/m.zorgon",
        "/m/upstage.solar-zorgon.gguf",
    ] {
        assert!(!line(path).contains("zorgon"), "{}", line(path));
    }
    assert_eq!(
        maps(Strict, "1-2 r--p 0 0:0 0 [anon:zorgon/a]\n"),
        "1-2 r--p 0 0:0 0\n"
    );
}

#[test]
fn a_control_group_s_path_may_have_colons() {
    let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let line = format!("0::/zorgon.service/kubepods-x-podzorgon.slice:cri-containerd:{id}\n");
    for level in LEVELS {
        let got = cgroup(level, &line);
        assert!(!got.contains("zorgon") && !got.contains(id), "{got}");
        assert!(got.contains(":cri-containerd:"), "{got}");
        assert!(!cgroup(level, "zorgon:x\n/zorgon\n").contains("zorgon"));
    }
}

#[test]
fn addresses_of_hosts_go_and_everybody_s_stay() {
    for level in LEVELS {
        for address in [
            "192.168.7.3",
            "192.168.7.3:8080",
            "10.1.2.0/24",
            "2001:db8::7",
            "[2001:db8::7]:80",
            "fe80::7%eth0",
        ] {
            assert_eq!(hides(level, &[], &["--host", address])[2], "<address>");
            assert_eq!(hides(level, &[], &[address])[1], "<address>");
            assert_eq!(
                hides(level, &[], &[&format!("--host={address}")])[1],
                "--host=<address>"
            );
        }
        let got = hides(level, &[], &["--rpc", "192.168.7.3:1,127.0.0.1:2"]);
        assert_eq!(got[2], "<address>,127.0.0.1:2");
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "::",
            "::1",
            "[::1]:80",
            "0.0.0.0:80",
            "8080",
        ] {
            assert_eq!(hides(level, &[], &["--host", address])[2], address);
        }
    }
}

#[test]
fn what_a_server_says_is_hidden_within_lists_and_objects_too() {
    for level in LEVELS {
        for value in [
            json!(["/home/zorgon/x", ["zorgon is mine"]]),
            json!([{"zorgon": "zorgon"}]),
            json!({"zorgon": ["zorgon"]}),
            json!("http://zorgon/x"),
        ] {
            let got = field(level, "model_alias", value).to_string();
            assert!(!got.contains("zorgon"), "{got}");
        }
        assert_eq!(
            field(level, "total_slots", json!([4, true])),
            json!([4, true])
        );
        assert_eq!(field(level, "role", json!("10.1.2.3")), json!("<address>"));
        let build = json!("b6123-0a1b2c3d");
        assert_eq!(field(level, "build_info", build.clone()), build);
    }
    for name in ["model_alias", "role", "build_info", "model_path"] {
        let got = field(Strict, name, json!(["zorgon"])).to_string();
        assert!(!got.contains("zorgon"), "{got}");
    }
    assert_eq!(
        field(Paths, "model_alias", json!("zorgon")),
        json!("zorgon")
    );
}

#[test]
fn of_a_file_that_is_no_gguf_only_the_first_bytes_are_left() {
    for level in LEVELS {
        let content = b"\x7f\0\0\0\0\0\0\0{\"__metadata__\": \"zorgon of alice\"}";
        let left = first_bytes(level, content);
        assert_eq!(left.len(), content.len());
        assert_eq!(&left[..8], &content[..8]);
        assert!(left[8..].iter().all(|byte| *byte == 0), "{level:?}");
    }
}

#[test]
fn a_model_file_s_own_words_go_and_those_of_its_format_stay() {
    let described = || {
        let mut found = formats::Description::new(formats::Format::Index);
        found.title = Some("zorgon".to_owned());
        found.architecture = Some("zorgon".to_owned());
        found.producer = Some("pt".to_owned());
        found.parts = vec![
            "zorgon-00001-of-00002.safetensors".to_owned(),
            "zorgon-00002-of-00002.safetensors".to_owned(),
        ];
        found
    };
    let found = model_file(Strict, described());
    assert!(!format!("{found:?}").contains("zorgon"), "{found:?}");
    assert_eq!(found.producer.as_deref(), Some("pt"));
    assert!(found.parts[0].ends_with("-00001-of-00002.safetensors"));
    assert_eq!(
        found.parts[0].replace("00001-of", "00002-of"),
        found.parts[1]
    );
    assert_eq!(model_file(Paths, described()), described());
    let known = formats::Description {
        architecture: Some("qwen3".to_owned()),
        ..described()
    };
    assert_eq!(
        model_file(Strict, known).architecture.as_deref(),
        Some("qwen3")
    );
}
