//! Answers that cannot be, or that contradict each other: what is not known of them is never a number.

use model::{Bytes, Gap, Reading, Reported};
use raw::Endpoint;
use serde_json::{Value, json};

use super::machine::{Simulated, Task};
use crate::models::claims::Findings;

const PID: u32 = 10;
const PARENT: u32 = 5;

fn llama(context: &Value, total: &Value, slots: Value) -> Findings {
    let props = json!({
        "default_generation_settings": { "n_ctx": context }, "total_slots": total, "model_path": "/m.gguf",
        "build_info": "b11434-unknown", "endpoint_slots": true, "is_sleeping": false,
    });
    let task = Task::new("llama-server", "llama-server|-m|/m.gguf").at(8080);
    let mut machine = Simulated::new([(PID, task)])
        .answering(PID, Endpoint::LlamaProps, props)
        .answering(PID, Endpoint::LlamaSlots, slots);
    machine.after(2, &[PID]).remove(&PID).unwrap()
}

fn slot(change: impl FnOnce(&mut serde_json::Map<String, Value>)) -> Value {
    let mut slot = json!({ "id": 0, "n_ctx": 1024, "is_processing": false, "id_task": 3, "n_prompt_tokens": 24 });
    change(slot.as_object_mut().unwrap());
    slot
}

fn with(field: &str, value: Value) -> Value {
    slot(|slot| drop(slot.insert(field.to_owned(), value)))
}

fn without(field: &str) -> Value {
    slot(|slot| drop(slot.remove(field)))
}

fn value(reading: &Reading<Reported<u64>>) -> Result<u64, Gap> {
    match reading {
        Reading::Known(known) => Ok(known.value),
        Reading::Missing(_) => Err(reading.gap().unwrap()),
    }
}

#[test]
fn slots_that_do_not_say_whether_they_work_are_not_idle() {
    for (slots, busy, cached) in [
        (json!([slot(|_| {})]), Ok(0), Ok(24)),
        (json!([]), Err(Gap::NotFound), Err(Gap::NotFound)),
        (
            json!([with("is_processing", json!("yes"))]),
            Err(Gap::Malformed),
            Ok(24),
        ),
        (
            json!([with("is_processing", json!(0))]),
            Err(Gap::Malformed),
            Ok(24),
        ),
        (
            json!([with("is_processing", Value::Null)]),
            Err(Gap::Malformed),
            Ok(24),
        ),
        (
            json!([without("is_processing")]),
            Err(Gap::NotFound),
            Ok(24),
        ),
        (
            json!([with("n_prompt_tokens", json!(-5))]),
            Ok(0),
            Err(Gap::Malformed),
        ),
        (
            json!([with("n_prompt_tokens", json!("5"))]),
            Ok(0),
            Err(Gap::Malformed),
        ),
        (
            json!([without("n_prompt_tokens")]),
            Ok(0),
            Err(Gap::NotFound),
        ),
        (
            json!([{ "id": 0, "n_ctx": 1024 }]),
            Err(Gap::NotFound),
            Err(Gap::NotFound),
        ),
        (
            json!([{ "id": 0, "is_processing": false, "id_task": -1 }]),
            Ok(0),
            Err(Gap::NotFound),
        ),
    ] {
        let found = llama(&json!(1024), &json!(1), slots.clone());
        let server = found.server.unwrap();
        assert_eq!(value(&server.slots_busy), busy, "{slots}");
        assert_eq!(value(&server.cached_tokens), cached, "{slots}");
    }
}

#[test]
fn of_more_slots_than_are_kept_none_is_counted() {
    for (count, busy) in [
        (256_u64, Ok(256)),
        (257, Err(Gap::OverBound)),
        (300, Err(Gap::OverBound)),
    ] {
        let one =
            |id| json!({ "id": id, "n_ctx": 1024, "is_processing": true, "n_prompt_tokens": 1 });
        let slots: Vec<Value> = (0..count).map(one).collect();
        let server = llama(&json!(1024), &json!(count), slots.into())
            .server
            .unwrap();
        assert_eq!(value(&server.slots), Ok(count));
        assert_eq!(value(&server.slots_busy), busy);
        assert_eq!(value(&server.cached_tokens), busy);
    }
}

#[test]
fn figures_that_cannot_be_are_missing_with_the_reason() {
    for (context, slots, expected) in [
        (json!(1024), json!(1), (Ok(1024), Ok(1))),
        (
            json!(-1),
            json!(-3),
            (Err(Gap::Implausible), Err(Gap::Implausible)),
        ),
        (
            json!(4_294_967_296_u64),
            json!(65_536),
            (Err(Gap::Implausible), Err(Gap::Implausible)),
        ),
        (
            json!(0),
            json!(0),
            (Err(Gap::Implausible), Err(Gap::Implausible)),
        ),
        (
            json!(1e300),
            json!("4"),
            (Err(Gap::Implausible), Err(Gap::Implausible)),
        ),
    ] {
        let server = llama(&context, &slots, json!([slot(|_| {})]))
            .server
            .unwrap();
        assert_eq!(
            (value(&server.context), value(&server.slots)),
            expected,
            "{context}"
        );
    }
}

#[test]
fn a_server_that_contradicts_itself_is_said_to() {
    let three: Vec<Value> = (0..3).map(|_| with("is_processing", json!(true))).collect();
    for (context, total, slots, words, busy, cached) in [
        (1024, 1, json!([slot(|_| {})]), None, Ok(0), Ok(24)),
        (
            4096,
            1,
            json!([with("n_ctx", json!(128))]),
            Some("4096 tokens of context"),
            Ok(0),
            Ok(24),
        ),
        (
            1024,
            2,
            three.into(),
            Some("2 slots, /slots lists 3"),
            Err(Gap::Implausible),
            Ok(72),
        ),
        (
            1024,
            1,
            json!([with("n_prompt_tokens", json!(4_000_000_000_u64))]),
            Some("4000000000 tokens in the cache"),
            Ok(0),
            Err(Gap::Implausible),
        ),
    ] {
        let found = llama(&json!(context), &json!(total), slots);
        let server = found.server.as_ref().unwrap();
        assert_eq!(value(&server.slots_busy), busy, "{words:?}");
        assert_eq!(value(&server.cached_tokens), cached, "{words:?}");
        let conflict = found.models[0].conflict.as_deref();
        match words {
            None => assert_eq!(conflict, None),
            Some(words) => assert!(conflict.unwrap().contains(words), "{conflict:?}"),
        }
    }
}

#[test]
fn what_vllm_says_of_its_cache_is_shown_only_where_it_can_be() {
    for (field, label, told, shown) in [
        ("kv_blocks", "num_gpu_blocks", json!("27000"), Some("27000")),
        (
            "kv_blocks",
            "num_gpu_blocks",
            json!("99999999999999"),
            Some("n/a: "),
        ),
        ("kv_blocks", "num_gpu_blocks", json!("-1"), Some("n/a: ")),
        ("kv_blocks", "num_gpu_blocks", json!("None"), None),
        ("kv_block_tokens", "block_size", json!("16"), Some("16")),
        ("kv_block_tokens", "block_size", json!("0"), Some("n/a: ")),
        ("kv_block_tokens", "block_size", json!("1.5"), Some("n/a: ")),
        (
            "gpu_memory_utilization",
            "gpu_memory_utilization",
            json!("0.9"),
            Some("0.9"),
        ),
        (
            "gpu_memory_utilization",
            "gpu_memory_utilization",
            json!("nan"),
            Some("n/a: "),
        ),
        (
            "gpu_memory_utilization",
            "gpu_memory_utilization",
            json!("90"),
            Some("n/a: "),
        ),
        ("kv_type", "cache_dtype", json!("auto"), Some("auto")),
    ] {
        let metrics = json!({ "vllm:cache_config_info": [{ "value": 1.0, label: told }] });
        let api = Task::new("vllm", "/usr/bin/python3|/usr/bin/vllm|serve|org/m").at(8000);
        let mut machine = Simulated::new([(PID, api)])
            .answering(
                PID,
                Endpoint::VllmModels,
                json!({ "data": [{ "id": "m" }] }),
            )
            .answering(PID, Endpoint::VllmMetrics, metrics);
        let found = machine.after(3, &[PID]).remove(&PID).unwrap();
        let server = found.server.unwrap();
        let said = server
            .said
            .iter()
            .find(|one| one.field == field)
            .map(|one| &*one.value);
        match shown {
            Some("n/a: ") => assert!(said.unwrap().starts_with("n/a: "), "{told}: {said:?}"),
            shown => assert_eq!(said, shown, "{told}"),
        }
    }
}

#[test]
fn ollama_s_count_above_what_is_measured_is_a_contradiction() {
    const MIB: u64 = 1 << 20;
    for (counted, measured, is_told) in [
        (150, 100, true),
        (120, 100, true),
        (105, 100, false),
        (90, 100, false),
    ] {
        let body = json!({ "models": [{ "name": "a:1b", "size": counted * MIB, "size_vram": counted * MIB }] });
        let runner =
            Task::new("ollama", "/usr/bin/ollama|runner|--model|/b/x.gguf").child_of(PARENT);
        let serve = Task::new("ollama", "/usr/bin/ollama|serve").at(11434);
        let mut machine = Simulated::new([(PARENT, serve), (PID, runner)]).answering(
            PARENT,
            Endpoint::OllamaPs,
            body,
        );
        machine.measured = Some(Bytes(measured * MIB));
        let found = machine.after(3, &[PID]).remove(&PID).unwrap();
        let conflict = found.models[0].conflict.as_deref();
        assert_eq!(
            conflict.is_some(),
            is_told,
            "{counted} of {measured}: {conflict:?}"
        );
    }
}
