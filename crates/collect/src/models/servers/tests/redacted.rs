//! A strict recording replays as it was seen: every server, its figures and how sure its model is. Only names differ.

use model::{EvidenceLabel, ModelKind, ServerState};
use raw::Endpoint;
use raw::capture::Redaction;
use serde_json::{Value, json};

use super::machine::{Simulated, Task};
use crate::models::claims::Findings;

const PID: u32 = 10;
const PARENT: u32 = 5;

/// One server: its processes, and what it answers.
struct Served {
    kind: &'static str,
    tasks: Vec<(u32, Task)>,
    answers: Vec<(u32, Endpoint, Value)>,
}

fn alone(kind: &'static str, task: Task, answers: Vec<(Endpoint, Value)>) -> Served {
    let of = |(endpoint, body)| (PID, endpoint, body);
    Served {
        kind,
        tasks: vec![(PID, task)],
        answers: answers.into_iter().map(of).collect(),
    }
}

fn behind(kind: &'static str, server: Task, worker: Task, answer: (Endpoint, Value)) -> Served {
    Served {
        kind,
        tasks: vec![(PARENT, server), (PID, worker.child_of(PARENT))],
        answers: vec![(PARENT, answer.0, answer.1)],
    }
}

fn vllm(line: &str) -> Served {
    let models = json!({ "data": [{ "id": "acme/zorgon-7b", "root": "acme/zorgon-7b", "max_model_len": 16384 }] });
    let metrics = json!({
        "vllm:num_requests_running": [{ "value": 3.0 }],
        "vllm:num_requests_waiting": [{ "value": 5.0 }],
        "vllm:kv_cache_usage_perc": [{ "value": 0.42 }],
        "vllm:cache_config_info": [{
            "block_size": "16", "num_gpu_blocks": "5000", "gpu_memory_utilization": "0.9", "cache_dtype": "fp8_e4m3",
        }],
    });
    alone(
        "vLLM",
        Task::new("python3", line).at(8000),
        vec![
            (Endpoint::VllmModels, models),
            (Endpoint::VllmMetrics, metrics),
            (
                Endpoint::VllmVersion,
                json!({ "version": "0.11.0rc2.dev1" }),
            ),
        ],
    )
}

fn comfyui(line: &str) -> Served {
    let stats = json!({
        "system": { "comfyui_version": "0.3.60", "pytorch_version": "2.8.0+cu128" },
        "devices": [{ "type": "cuda", "index": 0, "torch_vram_total": 7_516_192_768_u64 }],
    });
    let queue = json!({ "exec_info": { "queue_remaining": 2 } });
    alone(
        "ComfyUI",
        Task::new("python3", line).at(8188),
        vec![
            (Endpoint::ComfyStats, stats),
            (Endpoint::ComfyPrompt, queue),
        ],
    )
}

fn koboldcpp(line: &str) -> Served {
    alone(
        "koboldcpp",
        Task::new("python3", line).at(5001),
        vec![
            (
                Endpoint::KoboldVersion,
                json!({ "result": "KoboldCpp", "version": "1.99", "protected": false }),
            ),
            (
                Endpoint::KoboldModel,
                json!({ "result": "koboldcpp/zorgon" }),
            ),
            (Endpoint::KoboldContext, json!({ "value": 4096 })),
            (
                Endpoint::KoboldPerf,
                json!({ "last_eval_speed": 41.5, "total_gens": 3, "queue": 0, "idle": 1 }),
            ),
        ],
    )
}

fn mlx(line: &str) -> Served {
    alone(
        "MLX-LM",
        Task::new("python3", line).at(8080),
        vec![(Endpoint::MlxHealth, json!({ "status": "ok" }))],
    )
}

fn sglang(line: &str) -> Served {
    let info = json!({
        "model_path": "acme/zorgon-7b", "version": "0.5.3.post1", "context_length": 8192, "mem_fraction_static": 0.88,
        "max_running_requests": 48, "is_embedding": false,
        "internal_states": [{
            "last_gen_throughput": 55.5,
            "memory_usage": { "weight": 15.27, "kvcache": 20.5, "graph": 1.2, "token_capacity": 149_000 },
        }],
    });
    alone(
        "SGLang",
        Task::new("python3", line).at(30000),
        vec![(Endpoint::SglangInfo, info)],
    )
}

fn lm_studio(program: &str) -> Served {
    let models = json!({ "data": [{
        "id": "zorgon-7b", "type": "llm", "quantization": "Q4_K_M", "state": "loaded", "loaded_context_length": 4096,
    }] });
    let mut served = alone(
        "LM Studio",
        Task::new("lm-studio", &format!("{program}|--type=utility"))
            .at(1234)
            .mapping("/home/zorgon/.lmstudio/extensions/libllama.so"),
        vec![(Endpoint::LmStudioV0, models)],
    );
    served.tasks[0].1.name = "lm-studio";
    served
}

/// Every server of the table, in the ways in which it is started.
fn all() -> Vec<Served> {
    let props = json!({
        "default_generation_settings": { "n_ctx": 4096 }, "total_slots": 2, "model_path": "/home/zorgon/acme.gguf",
        "build_info": "b11549-unknown", "is_sleeping": false, "model_alias": "zorgon",
    });
    let slots = json!([{ "id": 0, "is_processing": true, "n_prompt_tokens": 24, "id_task": 1 }]);
    let ps = json!({ "models": [{
        "name": "zorgon:tiny", "size": 620_000_000, "size_vram": 500_000_000, "context_length": 4096,
        "expires_at": "2026-12-01T04:30:00Z",
        "details": { "family": "gemma3", "parameter_size": "6.83M", "quantization_level": "Q8_0" },
    }] });
    let info = json!({
        "model_id": "acme/zorgon-7b", "model_dtype": "torch.float16", "max_total_tokens": 4096,
        "max_concurrent_requests": 128, "version": "3.3.4",
    });
    let system = json!({ "loaded_models": [{
        "id": "zorgon", "backend": "llama-cpp", "process": { "pid": PID }, "size_vram": 500_000_000,
    }] });
    let engines = json!([{ "backend_name": "llama.cpp", "model_name": "ai/zorgon:latest", "mode": "completion" }]);
    vec![
        alone(
            "llama-server",
            Task::new(
                "llama-server",
                "/home/zorgon/llama-server|-m|/home/zorgon/acme.gguf",
            )
            .at(8080),
            vec![
                (Endpoint::LlamaProps, props.clone()),
                (Endpoint::LlamaSlots, slots),
            ],
        ),
        alone(
            "llama-server",
            Task::new(
                "python3",
                "python3|/home/zorgon/llama_server.py|-m|/home/zorgon/acme.gguf",
            )
            .at(8080),
            vec![(Endpoint::LlamaProps, props.clone())],
        ),
        alone(
            "llama-server",
            Task::new("zorgon.llamafile", "/home/zorgon/zorgon.llamafile").at(8080),
            vec![(Endpoint::LlamaProps, props)],
        ),
        behind(
            "Ollama",
            Task::new("ollama", "/usr/local/bin/ollama|serve").at(11434),
            Task::new(
                "ollama",
                "/usr/local/bin/ollama|runner|--model|/home/zorgon/acme.gguf|--port|1",
            ),
            (Endpoint::OllamaPs, ps),
        ),
        lm_studio("/opt/LM Studio/lm-studio"),
        lm_studio("/home/zorgon/.lmstudio/bin/llmster"),
        vllm("python3|-m|vllm.entrypoints.openai.api_server|--model|acme/zorgon-7b"),
        vllm("python3|/home/zorgon/venv/bin/vllm|serve|acme/zorgon-7b"),
        sglang("python3|-m|sglang.launch_server|--model-path|acme/zorgon-7b"),
        alone(
            "text-generation-inference",
            Task::new(
                "text-generation",
                "text-generation-launcher|--model-id|acme/zorgon-7b",
            )
            .at(3000),
            vec![(Endpoint::TgiInfo, info)],
        ),
        koboldcpp("python3|/home/zorgon/koboldcpp.py|--model|/home/zorgon/acme.gguf"),
        koboldcpp("python3|koboldcpp.py|--model|/home/zorgon/acme.gguf"),
        koboldcpp("/home/zorgon/koboldcpp-linux-x64|--model|/home/zorgon/acme.gguf"),
        comfyui("python3|/home/zorgon/ComfyUI/main.py|--listen"),
        comfyui("python3|/home/zorgon/ComfyUI_acme/main.py"),
        behind(
            "LocalAI",
            Task::new("local-ai", "/usr/bin/local-ai|run").at(8080),
            Task::new(
                "llama-cpp-avx",
                "/home/zorgon/backends/llama-cpp-avx|--addr|127.0.0.1:1",
            ),
            (Endpoint::LocalAiSystem, system),
        ),
        mlx("python3|-m|mlx_lm.server|--model|acme/zorgon-7b"),
        mlx("python3|/home/zorgon/bin/mlx_lm.server|--model|acme/zorgon-7b"),
        mlx("python3|-m|mlx_lm|server"),
        behind(
            "Docker Model Runner",
            Task::new("model-runner", "/app/model-runner").at(12434),
            Task::new(
                "com.docker.llam",
                "/app/bin/com.docker.llama-server|--model|/home/zorgon/acme.gguf",
            ),
            (Endpoint::DockerPs, engines),
        ),
    ]
}

/// What of a model is no name.
type Model = (
    EvidenceLabel,
    ModelKind,
    Option<u64>,
    Vec<(&'static str, String)>,
);

/// What of all findings is no name.
#[derive(Debug, PartialEq)]
struct Seen {
    server: Option<(&'static str, u16, ServerState)>,
    figures: Vec<Option<u64>>,
    said: Vec<(&'static str, String)>,
    models: Vec<Model>,
    reported: Vec<(model::SegmentKind, Option<u64>)>,
}

/// Fields whose words are names.
const NAMES: &[&str] = &["name", "alias", "instance"];

fn words(said: &[model::Said]) -> Vec<(&'static str, String)> {
    let is_name = |it: &&model::Said| NAMES.contains(&it.field);
    said.iter()
        .filter(|it| !is_name(it))
        .map(|it| (it.field, it.value.to_string()))
        .collect()
}

fn seen(found: &Findings) -> Seen {
    let server = found.server.as_ref();
    let figures = |it: &model::Server| {
        [&it.context, &it.slots, &it.slots_busy, &it.cached_tokens]
            .map(|reading| reading.known().map(|it| it.value))
            .to_vec()
    };
    let model = |it: &model::Model| {
        let context = it.context_used.known().map(|it| it.value);
        (it.label, it.kind, context, words(&it.said))
    };
    Seen {
        server: server.map(|it| (it.kind, it.port, it.state)),
        figures: server.map(figures).unwrap_or_default(),
        said: server.map(|it| words(&it.said)).unwrap_or_default(),
        models: found.models.iter().map(model).collect(),
        reported: found
            .reported
            .iter()
            .map(|it| (it.kind, it.bytes.known().map(|it| it.value.0)))
            .collect(),
    }
}

#[test]
fn every_server_is_seen_alike_at_every_level_of_redaction() {
    let mut kinds: Vec<&str> = Vec::new();
    for Served {
        kind,
        tasks,
        answers,
    } in all()
    {
        kinds.push(kind);
        let [plain, paths, strict] =
            [Redaction::None, Redaction::Paths, Redaction::Strict].map(|level| {
                let mut machine = Simulated::new(tasks.clone());
                for (pid, endpoint, body) in &answers {
                    machine.answer(*pid, *endpoint, Ok((200, body.clone())));
                }
                let found = machine.refreshes(3, &[PID], level);
                if level == Redaction::Strict {
                    let all = format!("{:?} {:?}", found[&PID].server, found[&PID].models);
                    assert!(
                        !all.contains("zorgon") && !all.contains("acme"),
                        "{kind}: {all}"
                    );
                }
                seen(&found[&PID])
            });
        let line = tasks[0].1.arguments.replace('\0', " ");
        let (told, _, state) = plain
            .server
            .unwrap_or(("none", 0, ServerState::Unreachable));
        assert_eq!((told, state), (kind, ServerState::Ready), "{line}");
        assert_eq!(plain, paths, "{line}");
        assert_eq!(plain, strict, "{line}");
    }
    kinds.sort_unstable();
    kinds.dedup();
    let mut known: Vec<&str> = super::SERVERS.iter().map(|spec| spec.kind).collect();
    known.sort_unstable();
    assert_eq!(kinds, known);
}
