//! What a tensor is for, by its name: that decides which device llama.cpp puts it on.

/// What a tensor is for. From the table of tensors in llama.cpp (October 2026), which says for each kind whether it
/// belongs to the input, the output or a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Part of a layer (`blk.N.…`).
    Layer {
        /// N.
        number: u64,
        /// Whether it holds the weights of all experts (`ffn_…_exps`).
        expert: bool,
    },
    /// The embedding of tokens: a table on the CPU, and where there is no output matrix, the output as well.
    TokenEmbedding,
    /// Another table that tokens are looked up in.
    Input,
    /// Goes where the first layer goes.
    FirstLayer,
    /// A table that every layer uses: once on each device that has a layer.
    EveryLayer,
    /// Follows the last layer.
    Output,
    /// Not known.
    Other,
}

/// The role of the tensor `name` in a model of `architecture`.
pub(crate) fn role(name: &str, architecture: Option<&str>) -> Role {
    if let Some((number, rest)) = name
        .strip_prefix("blk.")
        .and_then(|rest| rest.split_once('.'))
        && let Ok(number) = number.parse()
    {
        return Role::Layer {
            number,
            expert: holds_experts(rest),
        };
    }
    let stem = name.split('.').next().unwrap_or_default();
    let is_lfm2 = matches!(architecture, Some("lfm2" | "lfm2moe"));
    match stem {
        "token_embd" => Role::TokenEmbedding,
        "position_embd" | "token_types" | "per_layer_token_embd" => Role::Input,
        "output" | "output_norm" | "cls" => Role::Output,
        // The name in LFM2's files is a mistake that llama.cpp lives with: it is the norm after the last layer.
        "token_embd_norm" if is_lfm2 => Role::Output,
        "token_embd_norm" | "per_layer_model_proj" | "per_layer_proj_norm" => Role::FirstLayer,
        "rope_freqs" | "rope_factors_long" | "rope_factors_short" => Role::EveryLayer,
        _ => Role::Other,
    }
}

/// What `--cpu-moe` matches: `ffn_(up|down|gate|gate_up)_(ch|)exps` after the layer's number.
fn holds_experts(rest: &str) -> bool {
    let matrix = rest.split('.').next().unwrap_or_default();
    matrix.starts_with("ffn_") && (matrix.ends_with("_exps") || matrix.ends_with("_chexps"))
}
