//! What known servers are recognised by, what they are asked, and what their answers mean.

mod harm;
mod implausible;
mod machine;
mod meaning;
mod redacted;

use std::collections::BTreeMap;

use super::spec::{SERVERS, serving};
use super::*;
use model::Text;

fn role(line: &str, folder: Option<&str>, has_ai: bool) -> Role {
    let arguments: Vec<Text> = line.split('|').map(Text::from).collect();
    Role::of(arguments, folder.map(Text::from), has_ai)
}

fn kind(line: &str) -> Option<&'static str> {
    role(line, None, false).serves.map(|spec| spec.kind)
}

#[test]
fn a_body_is_read_by_the_servers_whose_it_may_be() {
    for (body, expected) in [
        ("", 0),
        ("nothing", 0),
        ("{}", 0),
        ("{\"default_generation_settings\": {\"n_ctx\": 4096}}", 1),
        ("{\"models\": [{\"name\": \"a:b\"}]}", 2),
        ("{\"model_id\": \"org/m\", \"version\": \"3.0\"}", 2),
    ] {
        assert_eq!(servers_that_read(body.as_bytes()), expected, "{body}");
    }
}

#[test]
fn a_server_is_recognised_by_its_words_and_a_stranger_is_none() {
    for (line, expected) in [
        ("/opt/llama-server|-m|/m.gguf", Some("llama-server")),
        ("/opt/llama|serve|-m|/m.gguf", Some("llama-server")),
        ("/opt/llama|cli|-m|/m.gguf", None),
        (
            "python3|/x/llama_server.py|-m|/m.gguf",
            Some("llama-server"),
        ),
        ("/home/u/model.llamafile|--server", Some("llama-server")),
        ("/jan/bin/llama-server|--api-key|x", Some("llama-server")),
        ("com.docker.llama-server|--model|/m", Some("llama-server")),
        ("ollama_llama_server|--model|/m|--port|1", None),
        ("/usr/local/bin/ollama|serve", Some("Ollama")),
        ("/usr/local/bin/ollama|runner|--model|/m", None),
        (
            "/usr/bin/python3|/usr/bin/vllm|serve|org/model",
            Some("vLLM"),
        ),
        (
            "python3|-m|vllm.entrypoints.openai.api_server",
            Some("vLLM"),
        ),
        ("VLLM::EngineCore", None),
        (
            "python3|-m|sglang.launch_server|--model-path|x",
            Some("SGLang"),
        ),
        ("sglang::scheduler_TP0", None),
        (
            "text-generation-launcher|--model-id|x",
            Some("text-generation-inference"),
        ),
        (
            "python3|/opt/bin/text-generation-server|serve|x",
            Some("text-generation-inference"),
        ),
        ("text-generation-webui|--listen", None),
        ("python3|/opt/text-generation-webui|--api", None),
        ("python3|koboldcpp.py|--model|/m.gguf", Some("koboldcpp")),
        ("/x/koboldcpp-linux-x64|/m.gguf", Some("koboldcpp")),
        ("/usr/bin/local-ai|run", Some("LocalAI")),
        ("python3|-m|mlx_lm.server|--model|x", Some("MLX-LM")),
        ("/app/model-runner", Some("Docker Model Runner")),
        ("/opt/LM Studio/lm-studio", Some("LM Studio")),
        ("/opt/LM Studio/lm-studio|--type=renderer", None),
        ("/opt/LM Studio/lm-studio|--type=gpu-process", None),
        ("python3|/srv/ComfyUI/main.py", Some("ComfyUI")),
        ("python3|/srv/other/main.py", None),
        ("/usr/bin/nginx", None),
        ("/usr/bin/serve|vllm-docs", None),
        // What only has a server's name in its own or in a file's is another program.
        ("python3|analyse-llama-server-logs.py|404|21311", None),
        ("/usr/bin/llama-server-exporter|--port|9100", None),
        ("my_llama_server_proxy", None),
        ("python3|proxy.py|llama-server", None),
        ("tail|-f|llama_server", None),
        ("python3|-c|pass|llama-server", None),
        ("python3|koboldcpp-stats.py", None),
        ("/usr/bin/monitor|/usr/bin/vllm|serve", None),
        ("python3.12|-u|/x/llama_server.py", Some("llama-server")),
        ("python3|-X|dev|llama-server", Some("llama-server")),
        ("llama-server.exe|-m|/m.gguf", Some("llama-server")),
        ("", None),
    ] {
        assert_eq!(kind(line), expected, "{line}");
    }
    let comfy = role("python|main.py|--listen", Some("/home/u/ComfyUI"), true);
    assert_eq!(comfy.serves.map(|spec| spec.kind), Some("ComfyUI"));
    let other = role("python|main.py|--listen", Some("/home/u/game"), true);
    assert!(other.serves.is_none());
}

#[test]
fn what_draws_an_application_s_window_is_no_worker_of_it() {
    let works = |line: &str, has_ai| {
        let role = role(line, None, has_ai);
        role.works.iter().any(|spec| spec.kind == "LM Studio")
    };
    assert!(works("/opt/LM Studio/lm-studio|--type=utility", true));
    assert!(!works("/opt/LM Studio/lm-studio|--type=utility", false));
    assert!(!works("/opt/LM Studio/lm-studio|--type=gpu-process", true));
    assert!(!works("/usr/bin/node|worker.js", true));
}

/// A reply as the reader would hand it out, were everything kept.
pub(super) fn flattened(body: &serde_json::Value) -> BTreeMap<String, serde_json::Value> {
    fn add(value: &serde_json::Value, at: &str, into: &mut BTreeMap<String, serde_json::Value>) {
        match value {
            serde_json::Value::Array(all) => {
                into.insert(format!("{at}[]"), all.len().into());
                for (number, one) in all.iter().enumerate() {
                    add(one, &format!("{at}[{number}]"), into);
                }
            }
            serde_json::Value::Object(all) => {
                for (name, one) in all {
                    let dot = if at.is_empty() { "" } else { "." };
                    add(one, &format!("{at}{dot}{name}"), into);
                }
            }
            other => {
                into.insert(at.to_owned(), other.clone());
            }
        }
    }
    let mut fields = BTreeMap::new();
    add(body, "", &mut fields);
    fields
}

#[test]
fn every_server_has_a_first_question_and_no_two_the_same_name() {
    let mut kinds: Vec<&str> = SERVERS.iter().map(|spec| spec.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), SERVERS.len());
    for spec in SERVERS {
        assert!(!spec.first.is_empty(), "{}", spec.kind);
    }
    let subject = Subject {
        arguments: &[],
        folder: None,
        has_ai_runtime: true,
        never_sleeps: false,
    };
    assert!(serving(&subject).is_none());
}
