//! What model servers may be asked: the closed list of GETs, each with the few fields of its reply that are kept.
//!
//! Every entry changes nothing on its server when it is asked of one that is awake and no router. What does more
//! (llama-server's `/metrics` resets the averages that it gives) is not in the list and so cannot be asked.

mod kept;

use std::collections::BTreeMap;

use serde_json::Value;

/// What may be asked of a model server.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Endpoint {
    /// `/props` of llama-server. Neither wakes a sleeping server nor resets a counter.
    LlamaProps,
    /// `/slots` of llama-server. Wakes a sleeping server and keeps one from falling asleep.
    LlamaSlots,
    /// `/v1/models` of llama-server as a router: its models and their states.
    LlamaModels,
    /// `/api/ps` of Ollama: its loaded models.
    OllamaPs,
    /// `/api/v1/models` of LM Studio (0.4 and later): models and their loaded instances.
    LmStudioV1,
    /// `/api/v0/models` of LM Studio: models and whether each is loaded.
    LmStudioV0,
    /// `/v1/models` of vLLM.
    VllmModels,
    /// `/metrics` of vLLM. Its counters never reset.
    VllmMetrics,
    /// `/version` of vLLM.
    VllmVersion,
    /// `/get_server_info` of SGLang.
    SglangInfo,
    /// `/server_info` of SGLang, the later name of the same.
    SglangServerInfo,
    /// `/info` of text-generation-inference.
    TgiInfo,
    /// `/api/extra/version` of koboldcpp, which tells it from what it emulates.
    KoboldVersion,
    /// `/api/v1/model` of koboldcpp.
    KoboldModel,
    /// `/api/extra/true_max_context_length` of koboldcpp.
    KoboldContext,
    /// `/api/extra/perf` of koboldcpp.
    KoboldPerf,
    /// `/system_stats` of ComfyUI; its command line, which may hold secrets, is not kept.
    ComfyStats,
    /// `/prompt` of ComfyUI: how many jobs wait. `/queue` would hold the prompts themselves.
    ComfyPrompt,
    /// `/system` of LocalAI: loaded models with the numbers of their processes.
    LocalAiSystem,
    /// `/health` of `mlx_lm.server`. Its `/v1/models` lists what is downloaded, not what is loaded.
    MlxHealth,
    /// `/engines/ps` of Docker Model Runner.
    DockerPs,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BodyForm {
    /// JSON.
    Json,
    /// The text format of Prometheus, kept as if it were the object
    /// `{ "METRIC": [ { "value": 1.0, "LABEL": "…" } ] }`.
    Metrics,
}

/// Longest array of a reply of which elements are kept. The largest known are lists of installed models.
pub const MAX_ELEMENTS: usize = 256;

/// Most values of a reply that are kept.
pub const MAX_FIELDS: usize = 2_048;

/// Longest text of a reply that is kept, in bytes: a path.
pub const MAX_FIELD_TEXT: usize = 4_096;

impl Endpoint {
    /// The kept values of a reply's body by path ([`crate::HttpReply::fields`]); none where the body is not in
    /// the endpoint's form.
    pub fn kept(self, body: &[u8]) -> BTreeMap<String, Value> {
        kept::kept(body, self)
    }

    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::LlamaProps,
        Self::LlamaSlots,
        Self::LlamaModels,
        Self::OllamaPs,
        Self::LmStudioV1,
        Self::LmStudioV0,
        Self::VllmModels,
        Self::VllmMetrics,
        Self::VllmVersion,
        Self::SglangInfo,
        Self::SglangServerInfo,
        Self::TgiInfo,
        Self::KoboldVersion,
        Self::KoboldModel,
        Self::KoboldContext,
        Self::KoboldPerf,
        Self::ComfyStats,
        Self::ComfyPrompt,
        Self::LocalAiSystem,
        Self::MlxHealth,
        Self::DockerPs,
    ];

    /// The path.
    pub const fn path(self) -> &'static str {
        self.row().0
    }

    /// How the body is written.
    pub const fn form(self) -> BodyForm {
        match self {
            Self::VllmMetrics => BodyForm::Metrics,
            _ => BodyForm::Json,
        }
    }

    /// Values of the reply that are kept, as paths: names separated by dots, `[]` for every element of an array.
    /// Only numbers, switches and short texts at the end of a path are kept, and the length of every array on the
    /// way. Nothing else leaves the reader.
    pub const fn kept_fields(self) -> &'static [&'static str] {
        self.row().1
    }

    /// Whether the value at this path is a text. Elsewhere it is a number or a switch, and a text is not kept: a server
    /// that answers one there may have put anything into it.
    pub fn is_text(self, path: &str) -> bool {
        let name = path.rsplit('.').next().unwrap_or(path);
        match self {
            Self::LlamaSlots | Self::KoboldContext | Self::KoboldPerf | Self::ComfyPrompt => false,
            _ => TEXTS.contains(&name.trim_end_matches("[]")),
        }
    }

    const fn row(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::LlamaProps => (
                "/props",
                &[
                    "default_generation_settings.n_ctx",
                    "total_slots",
                    "model_path",
                    // A list in newer builds.
                    "model_alias",
                    "model_alias[]",
                    "model_ftype",
                    "build_info",
                    "is_sleeping",
                    "endpoint_slots",
                    "role",
                ],
            ),
            // Beside these lie sampling settings and, where the server was told to, prompt and generated text.
            Self::LlamaSlots => (
                "/slots",
                &[
                    "[].id",
                    "[].n_ctx",
                    "[].is_processing",
                    "[].id_task",
                    "[].n_prompt_tokens",
                    // A list since late 2025.
                    "[].next_token[].n_decoded",
                    "[].next_token.n_decoded",
                ],
            ),
            Self::LlamaModels => ("/v1/models", &["data[].id", "data[].status.value"]),
            Self::OllamaPs => (
                "/api/ps",
                &[
                    "models[].name",
                    "models[].size",
                    "models[].size_vram",
                    "models[].expires_at",
                    "models[].context_length",
                    "models[].details.family",
                    "models[].details.parameter_size",
                    "models[].details.quantization_level",
                ],
            ),
            Self::LmStudioV1 => (
                "/api/v1/models",
                &[
                    "models[].key",
                    "models[].type",
                    "models[].quantization.name",
                    "models[].loaded_instances[].id",
                    "models[].loaded_instances[].config.context_length",
                ],
            ),
            Self::LmStudioV0 => (
                "/api/v0/models",
                &[
                    "data[].id",
                    "data[].type",
                    "data[].quantization",
                    "data[].state",
                    "data[].loaded_context_length",
                ],
            ),
            Self::VllmModels => (
                "/v1/models",
                &[
                    "data[].id",
                    "data[].root",
                    "data[].parent",
                    "data[].max_model_len",
                ],
            ),
            Self::VllmMetrics => (
                "/metrics",
                &[
                    "vllm:num_requests_running[].value",
                    "vllm:num_requests_waiting[].value",
                    "vllm:kv_cache_usage_perc[].value",
                    "vllm:gpu_cache_usage_perc[].value",
                    "vllm:generation_tokens_total[].value",
                    "vllm:cache_config_info[].block_size",
                    "vllm:cache_config_info[].num_gpu_blocks",
                    "vllm:cache_config_info[].gpu_memory_utilization",
                    "vllm:cache_config_info[].cache_dtype",
                ],
            ),
            Self::VllmVersion => ("/version", &["version"]),
            Self::SglangInfo => ("/get_server_info", SGLANG),
            Self::SglangServerInfo => ("/server_info", SGLANG),
            Self::TgiInfo => (
                "/info",
                &[
                    "model_id",
                    "model_dtype",
                    "max_total_tokens",
                    "max_concurrent_requests",
                    "version",
                ],
            ),
            Self::KoboldVersion => ("/api/extra/version", &["result", "version", "protected"]),
            Self::KoboldModel => ("/api/v1/model", &["result"]),
            Self::KoboldContext => ("/api/extra/true_max_context_length", &["value"]),
            Self::KoboldPerf => (
                "/api/extra/perf",
                &["last_eval_speed", "total_gens", "queue", "idle"],
            ),
            Self::ComfyStats => (
                "/system_stats",
                &[
                    "system.comfyui_version",
                    "system.pytorch_version",
                    "devices[].type",
                    "devices[].index",
                    "devices[].torch_vram_total",
                    "devices[].torch_vram_free",
                ],
            ),
            Self::ComfyPrompt => ("/prompt", &["exec_info.queue_remaining"]),
            Self::LocalAiSystem => (
                "/system",
                &[
                    "loaded_models[].id",
                    "loaded_models[].backend",
                    "loaded_models[].process.pid",
                    "loaded_models[].size_vram",
                ],
            ),
            Self::MlxHealth => ("/health", &["status"]),
            Self::DockerPs => (
                "/engines/ps",
                &[
                    "[].backend_name",
                    "[].model_name",
                    "[].mode",
                    "[].last_used",
                ],
            ),
        }
    }
}

/// Names of values that are texts: names of models and of formats, versions, states, times.
const TEXTS: &[&str] = &[
    "model_path",
    "model_alias",
    "model_ftype",
    "build_info",
    "role",
    "id",
    "value",
    "name",
    "expires_at",
    "family",
    "parameter_size",
    "quantization_level",
    "key",
    "type",
    "quantization",
    "state",
    "root",
    "parent",
    "cache_dtype",
    "version",
    "model_id",
    "model_dtype",
    "result",
    "comfyui_version",
    "pytorch_version",
    "backend",
    "status",
    "backend_name",
    "model_name",
    "mode",
    "last_used",
];

const SGLANG: &[&str] = &[
    "model_path",
    "version",
    "context_length",
    "mem_fraction_static",
    "is_embedding",
    "max_running_requests",
    "last_gen_throughput",
    "internal_states[].last_gen_throughput",
    "internal_states[].memory_usage.weight",
    "internal_states[].memory_usage.kvcache",
    "internal_states[].memory_usage.cuda graph",
    "internal_states[].memory_usage.graph",
    "internal_states[].memory_usage.token_capacity",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_a_plain_path_without_a_parameter() {
        for endpoint in Endpoint::ALL {
            let path = endpoint.path();
            assert!(path.starts_with('/'), "{path}");
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"/_".contains(&b);
            assert!(path.bytes().all(plain), "{path}");
            assert!(!endpoint.kept_fields().is_empty(), "{path}");
        }
    }

    #[test]
    fn no_field_that_can_hold_what_somebody_wrote_is_kept() {
        const TEXTS: &[&str] = &[
            "prompt",
            "generated",
            "content",
            "text",
            "message",
            "argv",
            "args",
            "preset",
            "chat_template",
            "system_prompt",
            "api_key",
            "params",
        ];
        for endpoint in Endpoint::ALL {
            for field in endpoint.kept_fields() {
                let mut names = field.split('.').map(|name| name.trim_end_matches("[]"));
                assert!(names.all(|name| !TEXTS.contains(&name)), "{field}");
            }
        }
    }
}
