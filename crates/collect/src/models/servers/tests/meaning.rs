//! What answers mean: figures, whose model it is, and contradictions.

use model::{Bytes, EvidenceKind, EvidenceLabel, Gap, Placement, SegmentKind};
use raw::Endpoint;
use serde_json::{Value, json};

use super::machine::{Simulated, Task};
use crate::models::claims::Findings;

const PID: u32 = 10;
const PARENT: u32 = 5;

fn llama(slots: Value) -> Simulated {
    let props = json!({
        "default_generation_settings": { "n_ctx": 1024 }, "total_slots": 4, "model_path": "/m.gguf",
        "build_info": "b11434-unknown", "endpoint_slots": true, "is_sleeping": false,
    });
    Simulated::new([(
        PID,
        Task::new("llama-server", "llama-server|-m|/m.gguf").at(8080),
    )])
    .answering(PID, Endpoint::LlamaProps, props)
    .answering(PID, Endpoint::LlamaSlots, slots)
}

fn slot(id: u64, task: Option<u64>, busy: bool, tokens: Option<u64>, decoded: u64) -> Value {
    let mut slot = json!({ "id": id, "n_ctx": 1024, "is_processing": busy });
    if let Some(task) = task {
        slot["id_task"] = task.into();
        slot["next_token"] = json!([{ "n_decoded": decoded }]);
    }
    if let Some(tokens) = tokens {
        slot["n_prompt_tokens"] = tokens.into();
    }
    slot
}

#[test]
fn slots_tell_work_and_tokens_in_the_cache_and_idle_slots_keep_theirs() {
    for (slots, busy, tokens) in [
        (json!([slot(0, None, false, None, 0)]), 0, Some(0)),
        (
            json!([
                slot(0, Some(3), false, Some(24), 0),
                slot(1, Some(4), true, Some(100), 9)
            ]),
            1,
            Some(124),
        ),
        // Builds before May 2026 do not tell.
        (json!([slot(0, Some(3), false, None, 8)]), 0, None),
    ] {
        let found = llama(slots).after(2, &[PID]);
        let server = found[&PID].server.as_ref().unwrap();
        let value =
            |reading: &model::Reading<model::Reported<u64>>| reading.known().map(|it| it.value);
        assert_eq!(value(&server.context), Some(1024));
        assert_eq!(value(&server.slots), Some(4));
        assert_eq!(value(&server.slots_busy), Some(busy));
        assert_eq!(value(&server.cached_tokens), tokens);
        assert_eq!(server.tokens_per_second.gap(), Some(Gap::FirstSample));
    }
}

#[test]
fn the_speed_is_the_difference_of_two_counts_of_the_same_requests() {
    let at = |task, busy, decoded| json!([slot(0, Some(task), busy, Some(50), decoded)]);
    for (before, after, speed) in [
        (at(1, true, 10), at(1, true, 60), Ok(10.0)),
        (at(1, false, 0), at(1, false, 0), Ok(0.0)),
        (at(1, true, 10), at(1, false, 0), Err(Gap::NoBaseline)),
        (at(1, true, 10), at(2, true, 60), Err(Gap::NoBaseline)),
        (at(1, true, 60), at(1, true, 10), Err(Gap::NoBaseline)),
    ] {
        let mut machine = llama(before);
        machine.refresh(&[PID]);
        machine.answer(PID, Endpoint::LlamaSlots, Ok((200, after)));
        let found = machine.after(5, &[PID]);
        let server = found[&PID].server.as_ref().unwrap();
        let told = server.tokens_per_second.known().map(|it| it.value);
        let told = told.ok_or_else(|| server.tokens_per_second.gap().unwrap());
        assert_eq!(format!("{told:?}"), format!("{speed:?}"));
    }
}

const DIGEST: &str = "1111111111111111111111111111111111111111111111111111111111111111";

fn runner(digest: &str) -> Task {
    let line = format!("/usr/lib/ollama/llama-server|--model|/b/sha256-{digest}|--port|40001");
    Task::new("llama-server", &line).child_of(PARENT)
}

fn ps(names: &[&str], size_vram: u64) -> Value {
    let one = |name: &&str| {
        json!({
            "name": name, "model": name, "size": 4_294_967_296_u64, "size_vram": size_vram,
            "digest": "f".repeat(64), "expires_at": "2318-03-10T12:00:00Z", "context_length": 8192,
            "details": { "family": "llama", "parameter_size": "3.2B", "quantization_level": "Q4_K_M" },
        })
    };
    json!({ "models": names.iter().map(one).collect::<Vec<_>>() })
}

fn ollama(
    names: &[&str],
    size_vram: u64,
    runners: impl IntoIterator<Item = (u32, Task)>,
) -> Simulated {
    let serve = Task::new("ollama", "/usr/bin/ollama|serve").at(11434);
    Simulated::new(runners.into_iter().chain([(PARENT, serve)])).answering(
        PARENT,
        Endpoint::OllamaPs,
        ps(names, size_vram),
    )
}

fn total(found: &Findings) -> Vec<(SegmentKind, Placement, Option<u64>)> {
    let of = |part: &model::Segment<model::Reported<Bytes>>| {
        (
            part.kind,
            part.placement,
            part.bytes.known().map(|it| it.value.0),
        )
    };
    found.reported.iter().map(of).collect()
}

#[test]
fn ollama_s_word_is_joined_to_the_one_runner_of_the_one_model() {
    let mut machine = ollama(&["llama3.2:3b"], 3 << 30, [(PID, runner(DIGEST))]);
    let found = &machine.after(3, &[PID])[&PID];
    let [model] = &found.models[..] else {
        panic!("{:?}", found.models)
    };
    let path = model.path.value().unwrap();
    assert!(path.ends_with(DIGEST), "{path}");
    assert!(
        model
            .evidence
            .iter()
            .any(|one| one.kind == EvidenceKind::Api)
    );
    assert_eq!(model.context_used.known().map(|it| it.value), Some(8192));
    let said: Vec<(&str, &str)> = model.said.iter().map(|it| (it.field, &*it.value)).collect();
    for words in [
        ("name", "llama3.2:3b"),
        ("quantization", "Q4_K_M"),
        ("expires_at", "2318-03-10T12:00:00Z"),
    ] {
        assert!(said.contains(&words), "{words:?} in {said:?}");
    }
    let whole = (SegmentKind::Total, Placement::Gpu, Some(3 << 30));
    assert_eq!(total(found), [whole]);
    assert!(!SegmentKind::Total.stands_alone());
    let server = found.server.as_ref().unwrap();
    assert_eq!(server.answered_by, Some(PARENT));
    assert_eq!((server.kind, server.port), ("Ollama", 11434));
    assert_eq!(model.conflict, None, "nothing was measured");
}

#[test]
fn a_runner_whose_words_come_late_is_not_taken_for_one_without_a_server() {
    let mut machine = ollama(&["llama3.2:3b"], 3 << 30, [(PID, runner(DIGEST))]);
    machine.is_late = true;
    let found = machine.refreshes(12, &[PID], raw::capture::Redaction::None);
    let server = found[&PID].server.as_ref().unwrap();
    assert_eq!((server.kind, server.answered_by), ("Ollama", Some(PARENT)));
}

#[test]
fn a_runner_without_its_server_says_so() {
    let line = format!("ollama|runner|--model|/b/sha256-{DIGEST}|--port|40001");
    let alone = Task::new("ollama", &line).child_of(PARENT);
    let shell = Task::new("bash", "bash");
    let mut machine = Simulated::new([(PID, alone), (PARENT, shell)]);
    let found = &machine.after(3, &[PID])[&PID];
    assert!(found.server.is_none());
    assert_eq!(found.server_unasked, Some(Gap::NotFound));
}

#[test]
fn of_several_models_or_runners_none_is_guessed() {
    let two = ["a:1b", "b:1b"];
    let other = DIGEST.replace('1', "2");
    for (names, runners) in [
        (&two[..], vec![(PID, runner(DIGEST)), (11, runner(&other))]),
        (&two[..], vec![(PID, runner(DIGEST))]),
        (&two[..1], vec![(PID, runner(DIGEST)), (11, runner(&other))]),
    ] {
        let pids: Vec<u32> = runners.iter().map(|(pid, _)| *pid).collect();
        let mut machine = ollama(names, 3 << 30, runners);
        let found = machine.after(20, &pids);
        for pid in pids {
            assert_eq!(found[&pid].reported, [], "{names:?}");
            for model in &found[&pid].models {
                assert!(model.evidence.iter().all(|it| it.kind != EvidenceKind::Api));
            }
        }
    }
}

#[test]
fn memory_that_ollama_counts_on_the_gpu_and_nobody_measures_there_is_a_contradiction() {
    for (measured, is_told) in [
        (None, false),
        (Some(0), true),
        (Some(1 << 30), true),
        (Some(3 << 30), false),
        (Some(7 << 30), false),
    ] {
        let mut machine = ollama(&["llama3.2:3b"], 3 << 30, [(PID, runner(DIGEST))]);
        machine.measured = measured.map(Bytes);
        let found = &machine.after(3, &[PID])[&PID];
        let conflict = found.models[0].conflict.as_deref();
        assert_eq!(conflict.is_some(), is_told, "{measured:?}: {conflict:?}");
        if measured == Some(0) {
            let sentence = conflict.unwrap();
            assert!(sentence.contains("3.00 GiB") && sentence.contains("0.00 MiB"));
        }
    }
}

#[test]
fn a_process_that_only_has_a_server_s_child_s_name_gets_nothing_from_a_stranger() {
    let mut machine = ollama(
        &["llama3.2:3b"],
        3 << 30,
        [(PID, runner(DIGEST).child_of(7))],
    );
    machine
        .tasks
        .insert(7, Task::new("ollama", "/bin/bash|-c|x").at(11435));
    let found = &machine.after(60, &[PID])[&PID];
    assert_eq!(machine.asked, []);
    assert!(found.server.is_none());
}

#[test]
fn of_lm_studio_only_loaded_instances_are_models() {
    let worker = Task::new(
        "node",
        "/home/u/.lmstudio/.internal/utils/node|llmworker.js",
    )
    .child_of(PARENT)
    .mapping("/home/u/.lmstudio/extensions/backends/x/libllama.so")
    .mapping("/usr/lib/libcuda.so.1");
    let daemon = || Task::new("llmster", "/home/u/.lmstudio/llmster/llmster").at(1234);
    let newer = json!({ "models": [
        { "type": "llm", "key": "qwen/qwen3-4b", "quantization": { "name": "Q4_K_M" },
          "loaded_instances": [{ "id": "qwen/qwen3-4b", "config": { "context_length": 4096 } }] },
        { "type": "llm", "key": "google/gemma-3-12b", "loaded_instances": [] },
    ] });
    let older = json!({ "data": [
        { "id": "qwen/qwen3-4b", "type": "llm", "state": "loaded", "quantization": "Q4_K_M",
          "loaded_context_length": 4096 },
        { "id": "google/gemma-3-12b", "type": "vlm", "state": "not-loaded", "max_context_length": 8 },
    ] });
    for (endpoint, body, asked) in [
        (Endpoint::LmStudioV1, newer, vec![Endpoint::LmStudioV1]),
        (
            Endpoint::LmStudioV0,
            older,
            vec![Endpoint::LmStudioV1, Endpoint::LmStudioV0],
        ),
    ] {
        let tasks = [(PID, worker.clone()), (PARENT, daemon())];
        let mut machine = Simulated::new(tasks).answering(PARENT, endpoint, body);
        let found = &machine.after(10, &[PID])[&PID];
        assert_eq!(machine.endpoints(PARENT), asked);
        let [model] = &found.models[..] else {
            panic!("{:?}", found.models)
        };
        assert_eq!(&*model.name, "qwen/qwen3-4b");
        assert_eq!(model.kind, model::ModelKind::Llm);
        assert_eq!(model.label, EvidenceLabel::Likely);
        assert_eq!(model.context_used.known().map(|it| it.value), Some(4096));
        assert_eq!(found.server.as_ref().unwrap().answered_by, Some(PARENT));
    }
}

#[test]
fn a_worker_of_vllm_s_engine_has_the_api_server_s_word() {
    let api = Task::new("vllm", "/usr/bin/python3|/usr/bin/vllm|serve|org/m").at(8000);
    let engine = Task::new("VLLM::EngineCor", "VLLM::EngineCore").child_of(PARENT);
    let worker = Task::new("VLLM::Worker_TP", "VLLM::Worker_TP0").child_of(9);
    let metrics = |tokens: u64| {
        json!({
            "vllm:num_requests_running": [{ "value": 3.0 }, { "value": 1.0 }],
            "vllm:num_requests_waiting": [{ "value": 2.0 }],
            "vllm:kv_cache_usage_perc": [{ "value": 0.125 }],
            "vllm:generation_tokens_total": [{ "value": tokens }],
            "vllm:cache_config_info": [{ "value": 1.0, "block_size": "16", "num_gpu_blocks": "27000" }],
        })
    };
    let models = json!({ "data": [
        { "id": "served", "root": "org/m", "parent": null, "max_model_len": 32768 },
        { "id": "adapter", "root": "/lora", "parent": "served" },
    ] });
    let mut machine = Simulated::new([(PARENT, api), (9, engine), (PID, worker)])
        .answering(PARENT, Endpoint::VllmModels, models)
        .answering(PARENT, Endpoint::VllmMetrics, metrics(1000))
        .answering(
            PARENT,
            Endpoint::VllmVersion,
            json!({ "version": "0.11.0" }),
        );
    machine.after(3, &[PID]);
    machine.answer(PARENT, Endpoint::VllmMetrics, Ok((200, metrics(1500))));
    let found = &machine.after(6, &[PID])[&PID];
    let server = found.server.as_ref().unwrap();
    assert_eq!(server.answered_by, Some(PARENT));
    assert_eq!(server.slots_busy.known().map(|it| it.value), Some(4));
    let speed = server.tokens_per_second.known().map(|it| it.value);
    assert!(
        speed.is_some_and(|speed| speed > 50.0 && speed <= 100.0),
        "{speed:?}"
    );
    let said: Vec<(&str, &str)> = server
        .said
        .iter()
        .map(|it| (it.field, &*it.value))
        .collect();
    for words in [
        ("queue", "2"),
        ("kv_cache_used", "12.5 %"),
        ("kv_blocks", "27000"),
        ("version", "0.11.0"),
    ] {
        assert!(said.contains(&words), "{words:?} in {said:?}");
    }
    let [model] = &found.models[..] else {
        panic!("{:?}", found.models)
    };
    assert_eq!(&*model.name, "served");
    assert_eq!(model.context_used.known().map(|it| it.value), Some(32768));
    // A counter that began anew has no difference.
    machine.answer(PARENT, Endpoint::VllmMetrics, Ok((200, metrics(5))));
    let found = &machine.after(6, &[PID])[&PID];
    let speed = &found.server.as_ref().unwrap().tokens_per_second;
    assert_eq!(speed.gap(), Some(Gap::NoBaseline));
}

#[test]
fn sglang_s_memory_is_the_first_rank_s() {
    let launch = || Task::new("python3", "python3|-m|sglang.launch_server|--tp|2").at(30000);
    let info = json!({
        "model_path": "org/m", "version": "0.5.3", "context_length": 4096,
        "internal_states": [{ "last_gen_throughput": 123.5, "memory_usage":
            { "weight": 14.5, "kvcache": 8.25, "cuda graph": 0.5, "token_capacity": 367_404 } }],
    });
    for (title, parts) in [
        ("sglang::scheduler_TP0", 3),
        ("sglang::scheduler_TP1", 0),
        ("sglang::scheduler", 3),
    ] {
        let rank = Task::new("sglang::schedul", title).child_of(PARENT);
        let mut machine = Simulated::new([(PARENT, launch()), (PID, rank)]).answering(
            PARENT,
            Endpoint::SglangServerInfo,
            info.clone(),
        );
        let found = &machine.after(10, &[PID])[&PID];
        assert_eq!(found.reported.len(), parts, "{title}");
        if parts == 3 {
            let gpu = Placement::Gpu;
            let expected = [
                (
                    SegmentKind::Weights,
                    gpu,
                    Some(14 * 1024 * (1 << 20) + (512 << 20)),
                ),
                (SegmentKind::Kv, gpu, Some(8448 << 20)),
                (SegmentKind::Graphs, gpu, Some(512 << 20)),
            ];
            assert_eq!(total(found), expected);
        }
        let server = found.server.as_ref().unwrap();
        let speed = server
            .tokens_per_second
            .known()
            .map(|it| it.value.to_string());
        assert_eq!(speed.as_deref(), Some("123.5"));
    }
}

#[test]
fn local_ai_s_word_goes_to_the_process_whose_number_it_tells() {
    let backend =
        || Task::new("llama-cpp-grpc", "/backends/llama-cpp/grpc|--addr|x").child_of(PARENT);
    let system = json!({ "loaded_models": [
        { "id": "qwen", "backend": "llama-cpp", "process": { "pid": PID }, "size_vram": 5_000_000_u64 },
        { "id": "other", "process": { "pid": 77 } },
    ] });
    let local = Task::new("local-ai", "/usr/bin/local-ai|run").at(8080);
    let mut machine = Simulated::new([(PARENT, local), (PID, backend()), (11, backend())])
        .answering(PARENT, Endpoint::LocalAiSystem, system);
    let found = machine.after(3, &[PID, 11]);
    assert_eq!(&*found[&PID].models[0].name, "qwen");
    assert_eq!(
        found[&PID].reported[0].bytes.known().map(|it| it.value.0),
        Some(5_000_000)
    );
    assert!(found[&11].models.is_empty());
}

#[test]
fn koboldcpp_is_asked_what_it_is_before_anything_else() {
    let task = || Task::new("python3", "python3|koboldcpp.py|--model|/m/a.gguf").at(5001);
    let mut machine = Simulated::new([(PID, task())]).answering(
        PID,
        Endpoint::KoboldVersion,
        json!({ "result": "other" }),
    );
    machine.after(60, &[PID]);
    assert_eq!(machine.endpoints(PID), [Endpoint::KoboldVersion]);
    let mut machine = Simulated::new([(PID, task())])
        .answering(
            PID,
            Endpoint::KoboldVersion,
            json!({ "result": "KoboldCpp", "version": "1.99" }),
        )
        .answering(
            PID,
            Endpoint::KoboldModel,
            json!({ "result": "koboldcpp/a" }),
        )
        .answering(PID, Endpoint::KoboldContext, json!({ "value": 8192 }))
        .answering(
            PID,
            Endpoint::KoboldPerf,
            json!({ "idle": 0, "queue": 1, "last_eval_speed": 20.5 }),
        );
    let found = &machine.after(2, &[PID])[&PID];
    let server = found.server.as_ref().unwrap();
    assert_eq!(server.context.known().map(|it| it.value), Some(8192));
    assert_eq!(server.slots_busy.known().map(|it| it.value), Some(1));
    let [model] = &found.models[..] else {
        panic!("{:?}", found.models)
    };
    assert_eq!(model.path.value().map(|path| &**path), Some("/m/a.gguf"));
    assert_eq!(model.label, EvidenceLabel::Confirmed);
}

#[test]
fn comfyui_tells_its_pool_and_no_model() {
    let task = Task::new("python", "python|/srv/ComfyUI/main.py").at(8188);
    let stats = json!({
        "system": { "comfyui_version": "0.3.60", "pytorch_version": "2.8.0+cu128", "argv": ["--secret"] },
        "devices": [{ "type": "cuda", "index": 0, "torch_vram_total": 21_474_836_480_u64 }, { "type": "cpu" }],
    });
    let mut machine = Simulated::new([(PID, task)])
        .answering(PID, Endpoint::ComfyStats, stats)
        .answering(
            PID,
            Endpoint::ComfyPrompt,
            json!({ "exec_info": { "queue_remaining": 2 } }),
        );
    let found = &machine.after(2, &[PID])[&PID];
    assert!(found.models.is_empty());
    let server = found.server.as_ref().unwrap();
    let said: Vec<(&str, &str)> = server
        .said
        .iter()
        .map(|it| (it.field, &*it.value))
        .collect();
    for words in [
        ("queue", "2"),
        ("pool", "20.00 GiB on cuda:0"),
        ("version", "0.3.60"),
    ] {
        assert!(said.contains(&words), "{words:?} in {said:?}");
    }
    assert!(!said.iter().any(|(_, value)| value.contains("secret")));
}

#[test]
fn what_comfyui_reserved_is_a_part_of_its_one_model_and_other_figures_of_that_name_are_none() {
    for (kind, expected) in [
        ("cuda", Some((SegmentKind::Allocator, 7_u64 << 30))),
        ("xpu", Some((SegmentKind::Allocator, 7 << 30))),
        // All memory of the machine, a constant.
        ("mps", None),
        ("cpu", None),
        ("privateuseone", None),
    ] {
        let task = Task::new("python", "python|/srv/ComfyUI/main.py");
        let task = task.at(8188).mapping("/m/flux.safetensors");
        let stats = json!({
            "system": { "comfyui_version": "0.3.60" },
            "devices": [{ "type": kind, "index": 0, "torch_vram_total": 7_u64 << 30 }],
        });
        let mut machine = Simulated::new([(PID, task)])
            .answering(PID, Endpoint::ComfyStats, stats)
            .answering(PID, Endpoint::ComfyPrompt, json!({}));
        machine.files.insert("/m/flux.safetensors", 7);
        let found = &machine.after(2, &[PID])[&PID];
        let parts = found.reported.iter();
        let parts: Vec<_> = parts
            .map(|it| (it.kind, it.bytes.known().unwrap().value.0))
            .collect();
        assert_eq!(parts, Vec::from_iter(expected), "{kind}");
    }
}

#[test]
fn tgi_and_docker_name_their_model() {
    let tgi = Task::new("text-generation", "text-generation-server|serve|org/m").at(3000);
    let info = json!({
        "model_id": "org/m", "model_dtype": "float16", "max_total_tokens": 2048,
        "max_concurrent_requests": 128, "version": "3.0",
    });
    let mut machine = Simulated::new([(PID, tgi)]).answering(PID, Endpoint::TgiInfo, info);
    let found = &machine.after(2, &[PID])[&PID];
    assert_eq!(&*found.models[0].name, "org/m");
    let server = found.server.as_ref().unwrap();
    // What it takes before it refuses is no number of slots.
    assert_eq!(server.slots.known(), None);
    let limit = |it: &&model::Said| it.field == "request_limit" && &*it.value == "128";
    assert!(server.said.iter().any(|it| limit(&it)));
    assert_eq!(found.models[0].kind, model::ModelKind::Llm);

    let line = "/app/bin/com.docker.llama-server|--model|/models/m.gguf";
    let runner = Task::new("com.docker.llam", line).child_of(PARENT);
    let daemon = Task::new("model-runner", "/app/model-runner").at(12434);
    let engines =
        json!([{ "backend_name": "llama.cpp", "model_name": "ai/smollm2", "mode": "completion" }]);
    let mut machine = Simulated::new([(PID, runner), (PARENT, daemon)]).answering(
        PARENT,
        Endpoint::DockerPs,
        engines,
    );
    let found = &machine.after(3, &[PID])[&PID];
    let [model] = &found.models[..] else {
        panic!("{:?}", found.models)
    };
    assert_eq!(
        model.path.value().map(|path| &**path),
        Some("/models/m.gguf")
    );
    assert_eq!(model.label, EvidenceLabel::Confirmed);
}

#[test]
fn a_server_that_names_another_file_than_it_has_mapped_contradicts_itself() {
    for (files, line, is_told) in [
        (
            vec![("/m.gguf", 1), ("/other.gguf", 2)],
            "llama-server",
            true,
        ),
        // One file under two names.
        (
            vec![("/m.gguf", 1), ("/other.gguf", 1)],
            "llama-server",
            false,
        ),
        // Not visible here.
        (vec![("/other.gguf", 2)], "llama-server", false),
        (
            vec![("/m.gguf", 1), ("/other.gguf", 2)],
            "llama-server|--model-draft|/other.gguf",
            false,
        ),
    ] {
        let task = Task::new("llama-server", line)
            .at(8080)
            .mapping("/other.gguf");
        let mut machine = llama(json!([]));
        machine.tasks.insert(PID, task);
        machine.files.extend(files.clone());
        let found = &machine.after(4, &[PID])[&PID];
        let told: Vec<&str> = found
            .models
            .iter()
            .filter_map(|model| model.conflict.as_deref())
            .collect();
        let sentence = "the server names /m.gguf, but the process has /other.gguf mapped";
        let expected: &[&str] = if is_told { &[sentence] } else { &[] };
        assert_eq!(told, expected, "{line} {files:?}");
    }
}

#[test]
fn a_log_that_names_no_model_is_about_the_only_one_that_the_server_names() {
    const LOG: &str = "\
(EngineCore_DP0 pid=10) INFO 12-01 03:06:35 [gpu_model_runner.py:2653] Model loading took 14.50 GiB and 3.5 seconds
(EngineCore_DP0 pid=10) INFO 12-01 03:06:35 [gpu_worker.py:298] Available KV cache memory: 5.25 GiB
";
    let task = Task::new("vllm", "/usr/bin/vllm|serve|org/m")
        .at(8000)
        .writing(LOG);
    let models = json!({ "data": [{ "id": "org/m", "root": "org/m", "max_model_len": 4096 }] });
    let mut machine = Simulated::new([(PID, task)]).answering(PID, Endpoint::VllmModels, models);
    let found = &machine.after(4, &[PID])[&PID];
    let [model] = &found.models[..] else {
        panic!("{:?}", found.models)
    };
    assert_eq!(&*model.name, "org/m");
    let parts = [
        (SegmentKind::Weights, Placement::Gpu, Some(29 << 29)),
        (SegmentKind::Pool, Placement::Gpu, Some(21 << 28)),
    ];
    assert_eq!(total(found), parts);
}

#[test]
fn memory_that_ran_out_is_told_with_a_model_and_without_one() {
    const LOG: &str = "\
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 128.00 MiB on device 0: cudaMalloc failed: out of memory
";
    for line in ["python3|app.py", "llama-server|-m|/m.gguf"] {
        let task = Task::new("python3", line).writing(LOG);
        let mut machine = Simulated::new([(PID, task)]);
        let found = &machine.after(4, &[PID])[&PID];
        let told: Vec<_> = found
            .notices
            .iter()
            .map(|it| (it.code, &*it.text))
            .collect();
        let text = "its log says that device memory ran out: 128.00 MiB wanted (out.txt)";
        assert_eq!(told, [("out_of_memory", text)], "{line}");
        for model in &found.models {
            let events: Vec<_> = model.events.iter().map(|it| (it.kind, it.bytes)).collect();
            let expected = (model::ModelEventKind::OutOfMemory, Some(Bytes::mib(128)));
            assert_eq!(events, [expected]);
        }
        assert_eq!(found.models.len(), usize::from(line.starts_with("llama")));
    }
}
