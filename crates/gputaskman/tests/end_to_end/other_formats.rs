//! Models in other formats than GGUF: what is shown of them, and what a recording holds of them.

use std::path::PathBuf;

use fake_nvml::build::Driver;
use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::{Value, json};

use crate::support::json::{list, process};
use crate::support::models::{self, LLAMA};
use crate::support::{Folder, Machine, Program, Task, captures, driver, json};

/// A safetensors file with these tensors (name, type, elements, bytes), which follow each other; and words in its header
/// that nobody is to see.
fn safetensors(tensors: &[(&str, &str, u64, u64)]) -> Vec<u8> {
    let mut header = json!({"__metadata__": {
        "format": "pt",
        "modelspec.title": "canarytitle",
        "modelspec.architecture": "canaryarchitecture",
        "ss_tag_frequency": "canaryprompt",
        "comment": "/home/canaryuser/x",
    }});
    if tensors
        .iter()
        .any(|(name, ..)| name.starts_with("model.layers"))
    {
        header["__metadata__"] = json!({"format": "pt"});
    }
    let mut at = 0;
    for (name, dtype, elements, bytes) in tensors {
        header[*name] =
            json!({"dtype": dtype, "shape": [elements], "data_offsets": [at, at + bytes]});
        at += bytes;
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.resize(file.len() + usize::try_from(at).unwrap(), 0);
    file
}

/// whisper.cpp's numbers of its base model, F16.
fn whisper() -> Vec<u8> {
    let numbers: [u32; 13] = [51_865, 1500, 512, 8, 6, 448, 512, 8, 6, 80, 1, 80, 201];
    let mut file = b"lmgg".to_vec();
    file.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    file.resize(5000, 0);
    file
}

fn opening(pid: u32, open: &[&str]) -> Task {
    let mut task = Task::new(pid, "python3");
    task.open = open.iter().map(|path| (*path).to_owned()).collect();
    task
}

const CHECKPOINT: u32 = 4101;
const SERVER: u32 = 4102;
const SPEECH: u32 = 4103;
const PIPELINE: u32 = 4104;
const OTHERS: u32 = 4105;
const MISNAMED: u32 = 4106;
const NAMED_PIPELINE: u32 = 4107;

fn machine() -> (Machine, Driver) {
    let machine = Machine::new();
    let place = "/home/canaryuser/canarymodels";
    let half = |name: &str| safetensors(&[(name, "BF16", 1000, 2000)]);
    machine.file(
        &format!("{place}/canarycheckpoint.safetensors"),
        half("model.diffusion_model.out.weight"),
    );
    let folder = format!("{place}/canaryqwen");
    for number in 1..=2 {
        let name = format!("{folder}/model-0000{number}-of-00002.safetensors");
        machine.file(&name, half("model.layers.0.weight"));
    }
    machine.file(
        &format!("{folder}/model.safetensors.index.json"),
        br#"{"metadata": {"total_size": 4000, "x": "canaryprompt"}, "weight_map": {
            "canarytensor": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}"#,
    );
    machine.file(
        &format!("{folder}/config.json"),
        br#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 36,
            "max_position_embeddings": 40960, "torch_dtype": "bfloat16", "_name_or_path": "/home/canaryuser/y"}"#,
    );
    machine.file("/models/ggml-base.bin", whisper());
    for role in ["transformer", "vae"] {
        let path = format!("/models/flux/{role}/diffusion_pytorch_model.safetensors");
        machine.file(&path, half("x.weight"));
    }
    machine.file(
        "/models/flux/model_index.json",
        br#"{"_class_name": "FluxPipeline", "_diffusers_version": "0.35.0", "scheduler": ["diffusers", "X"],
            "transformer": ["diffusers", "FluxTransformer2DModel"], "vae": ["diffusers", "AutoencoderKL"]}"#,
    );
    machine.file("/models/x.engine", b"ftrt\x18\0\0\0canaryprompt");
    machine.file("/models/notes.bin", b"canaryprompt of somebody");
    machine.file("/models/broken.onnx", b"canaryprompt of somebody");
    machine.file("/models/really.gguf", half("x.weight"));
    machine.file("/models/pytorch_model.bin", models::whole(LLAMA));
    let mut speech = Task::new(SPEECH, "whisper-server")
        .started_with("/usr/bin/whisper-server -m /models/ggml-base.bin");
    speech.mapped.push("/models/ggml-base.bin".to_owned());
    let mut others = opening(OTHERS, &["/models/notes.bin", "/models/broken.onnx"]).started_with(
        "/usr/bin/python3 run.py --loadEngine=/models/x.engine --save /models/written.onnx",
    );
    others.open.push("/models/x.engine".to_owned());
    for task in [
        opening(
            CHECKPOINT,
            &[&format!("{place}/canarycheckpoint.safetensors")],
        ),
        Task::new(SERVER, "vllm")
            .started_with(&format!("/usr/bin/python3 /usr/bin/vllm serve {folder}")),
        speech,
        opening(
            PIPELINE,
            &[
                "/models/flux/transformer/diffusion_pytorch_model.safetensors",
                "/models/flux/vae/diffusion_pytorch_model.safetensors",
            ],
        ),
        others,
        opening(
            MISNAMED,
            &["/models/really.gguf", "/models/pytorch_model.bin"],
        ),
        Task::new(NAMED_PIPELINE, "python3")
            .started_with("/usr/bin/python3 app.py --model /models/flux"),
    ] {
        machine.add(&task);
    }
    let card = (CHECKPOINT..=NAMED_PIPELINE).fold(Device::new("NVIDIA RTX A4000"), |card, pid| {
        card.with_process(Process::new(pid, Kind::Compute, 1_u64 << 30))
    });
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    (machine, driver)
}

fn document() -> Value {
    let (machine, driver) = machine();
    let ran = Program::line("--json")
        .driver(&driver)
        .root(machine.path())
        .run();
    let document = ran.ended(0).json();
    json::every_null_has_its_reason(&document);
    assert_eq!(document["pending"], false);
    for notice in list(&document, "notices") {
        assert_ne!(notice["code"], "internal", "{notice}");
    }
    document
}

fn models(document: &Value, pid: u32) -> &[Value] {
    list(process(document, pid), "models")
}

#[track_caller]
fn weights(document: &Value, pid: u32, high: u64) {
    let parts = list(process(document, pid), "segments_estimated");
    assert_eq!(parts.len(), 1, "{parts:?}");
    assert_eq!(
        (&parts[0]["segment"], &parts[0]["placement"]),
        (&json!("weights"), &json!("unknown"))
    );
    assert_eq!(
        (&parts[0]["bytes_low"], &parts[0]["bytes_high"]),
        (&json!(0), &json!(high))
    );
}

#[test]
fn each_format_is_told_by_its_first_bytes() {
    let document = document();
    let one = |pid| match models(&document, pid) {
        [one] => one,
        other => panic!("{other:?}"),
    };
    let checkpoint = one(CHECKPOINT);
    assert_eq!(checkpoint["format"], "safetensors");
    assert_eq!(checkpoint["kind"], "diffusion");
    assert_eq!(checkpoint["quantization"], "BF16");
    assert_eq!(checkpoint["parameters"], 1000);
    assert_eq!(checkpoint["name"], "canarytitle");
    assert_eq!(checkpoint["label"], "likely");
    weights(&document, CHECKPOINT, 2000);

    let speech = one(SPEECH);
    assert_eq!(
        (&speech["format"], &speech["kind"]),
        (&json!("ggml"), &json!("speech"))
    );
    assert_eq!(
        (&speech["architecture"], &speech["label"]),
        (&json!("whisper"), &json!("confirmed"))
    );
    assert_eq!(
        (&speech["layers"], &speech["quantization"]),
        (&json!(12), &json!("F16"))
    );
    weights(&document, SPEECH, 5000);
}

#[test]
fn a_model_in_several_files_is_one_with_the_words_of_its_configuration() {
    let document = document();
    let [model] = models(&document, SERVER) else {
        panic!("{document}");
    };
    assert_eq!(
        (&model["name"], &model["kind"]),
        (&json!("canaryqwen"), &json!("llm"))
    );
    assert_eq!(
        (&model["architecture"], &model["layers"]),
        (&json!("qwen3"), &json!(36))
    );
    assert_eq!(
        (&model["context_trained"], &model["parameters"]),
        (&json!(40960), &json!(2000))
    );
    assert_eq!(model["label"], "likely");
    let size = model["size_on_disk_bytes"].as_u64().unwrap();
    assert!(size > 4000, "both files: {size}");
    weights(&document, SERVER, 4000);
}

#[test]
fn a_pipeline_is_one_model_with_its_components() {
    let document = document();
    for pid in [PIPELINE, NAMED_PIPELINE] {
        let [model] = models(&document, pid) else {
            panic!("{:?}", models(&document, pid));
        };
        assert_eq!(
            (&model["name"], &model["kind"]),
            (&json!("flux"), &json!("diffusion"))
        );
        assert_eq!(
            (&model["format"], &model["path"]),
            (&json!("diffusers"), &json!("/models/flux"))
        );
        let roles: Vec<&Value> = list(model, "components")
            .iter()
            .map(|part| &part["role"])
            .collect();
        assert_eq!(roles, ["transformer", "vae"]);
        weights(&document, pid, 4000);
    }
}

#[test]
fn what_is_no_model_is_not_shown_and_what_is_broken_is_named() {
    let document = document();
    let others = models(&document, OTHERS);
    let paths: Vec<&Value> = others.iter().map(|model| &model["path"]).collect();
    assert_eq!(
        paths,
        ["/models/x.engine", "/models/broken.onnx"],
        "{others:?}"
    );
    assert_eq!(
        (&others[0]["format"], &others[0]["label"]),
        (&json!("tensorrt"), &json!("confirmed"))
    );
    assert_eq!(others[0]["parameters"], Value::Null);
    assert_eq!(others[1]["format"], "unknown");
    json::has_notice(&document, &format!("pid:{OTHERS}"), "model_unreadable");
    assert!(list(process(&document, OTHERS), "segments_estimated").is_empty());
}

#[test]
fn a_wrong_extension_decides_nothing() {
    let document = document();
    let formats: Vec<(&Value, &Value)> = models(&document, MISNAMED)
        .iter()
        .map(|model| (&model["path"], &model["format"]))
        .collect();
    assert_eq!(
        formats,
        [
            (&json!("/models/really.gguf"), &json!("safetensors")),
            (&json!("/models/pytorch_model.bin"), &json!("gguf")),
        ]
    );
}

fn record(level: &str, file: &PathBuf) -> String {
    let (machine, driver) = machine();
    let program = Program::new([
        "record", "--json", "-i", "0.25", "--count", "3", "--redact", level,
    ]);
    let ran = program
        .arg("-o")
        .arg(file)
        .driver(&driver)
        .root(machine.path())
        .run();
    ran.ended(0).text().to_owned()
}

#[test]
fn a_recording_holds_no_header_and_replays_the_same() {
    for level in ["strict", "paths", "none"] {
        let folder = Folder::new();
        let file = folder.at("capture.ndjson");
        let printed = record(level, &file);
        let replayed = Program::line("replay --json").arg(&file).run();
        assert_eq!(replayed.ended(0).text(), printed, "{level}");
        let last: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
        let [model] = models(&last, SERVER) else {
            panic!("{level}: {:?}", models(&last, SERVER));
        };
        assert_eq!(
            (&model["layers"], &model["architecture"]),
            (&json!(36), &json!("qwen3")),
            "{level}"
        );
        assert_eq!(
            list(&models(&last, PIPELINE)[0], "components").len(),
            2,
            "{level}"
        );
        let text = captures::text(&file);
        // Text of other formats is not in a recording of any kind.
        let mut absent = vec![
            "canaryprompt",
            "canarytensor",
            "canaryuser/x",
            "canaryuser/y",
        ];
        if level != "none" {
            absent.extend(["canaryuser", "canarymodels"]);
        }
        if level == "strict" {
            absent.push("canary");
        }
        for canary in absent {
            for text in [&text, &printed] {
                let at = text
                    .find(canary)
                    .map(|at| &text[at.saturating_sub(200)..at + 40]);
                assert_eq!(at, None, "{level}");
            }
        }
        assert_eq!(text.contains("canarytitle"), level != "strict");
    }
}
