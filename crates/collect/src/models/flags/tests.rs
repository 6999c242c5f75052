use super::*;

fn read(line: &str, environment: Option<&str>) -> Flags {
    let arguments: Vec<Text> = line.split(' ').map(Text::from).collect();
    Flags::read(&arguments, environment)
}

#[test]
fn a_server_command_line_is_read_in_all_spellings() {
    let flags = read(
        "/opt/llama-server -m /m/a.gguf --ctx-size=4096 -np 2 -ctk q8_0 -ngl 99 --swa-full",
        Some(""),
    );
    assert_eq!(flags.models, [("-m", "/m/a.gguf".into())]);
    assert_eq!(
        (flags.context, flags.parallel, flags.gpu_layers),
        (Some(4096), Some(2), Some(99))
    );
    assert_eq!(
        (flags.type_k, flags.type_v),
        (Some(CacheType::Q8_0), Some(CacheType::F16))
    );
    assert_eq!((flags.unified, flags.swa_full), (Some(false), true));
}

#[test]
fn long_options_are_the_same_with_underscores() {
    let dashed = "llama-server --model /m/a_b.gguf --ctx-size 512 --cache-type-k q8_0 --parallel 1 \
                  --n-gpu-layers=7 --swa-full --flash-attn off --model-draft /m/d.gguf";
    let mut words: Vec<String> = dashed.split(' ').map(str::to_owned).collect();
    for word in words.iter_mut().filter(|word| word.starts_with("--")) {
        *word = format!("--{}", word.get(2..).unwrap().replace('-', "_"));
    }
    assert_eq!(read(&words.join(" "), Some("")), read(dashed, Some("")));
    let flags = read(dashed, Some(""));
    assert_eq!(
        (flags.context, flags.type_k),
        (Some(512), Some(CacheType::Q8_0))
    );
    assert_eq!(flags.models.len(), 2);
    // A value is no option.
    assert_eq!(
        read("llama-server --log_file /x/my_log", Some("")).log_file,
        Some("/x/my_log".into())
    );
}

#[test]
fn only_a_program_that_cannot_have_a_limit_of_its_own_is_known_never_to_sleep() {
    for (line, environment, never) in [
        ("llama-server -m /m.gguf", Some(""), true),
        ("/opt/llama-server -m /m.gguf", Some("HOME=/h\0"), true),
        ("/opt/llama serve -m /m.gguf", Some(""), true),
        ("llama-server --sleep-idle-seconds -1", Some(""), true),
        ("llama-server --sleep-idle-seconds 30", Some(""), false),
        ("llama-server --sleep_idle_seconds 30", Some(""), false),
        ("llama-server --sleep_idle-seconds=30", Some(""), false),
        ("llama-server --sleep-idle-seconds soon", Some(""), false),
        (
            "llama-server --sleep-idle-seconds 30 --sleep-idle-seconds -1",
            Some(""),
            false,
        ),
        (
            "llama-server",
            Some("LLAMA_ARG_SLEEP_IDLE_SECONDS=30\0"),
            false,
        ),
        (
            "llama-server",
            Some("LLAMA_SERVER_ROUTER_PORT=8080\0"),
            false,
        ),
        ("llama-server -m /m.gguf", None, false),
        ("python3 llama_server.py -m /m.gguf", Some(""), false),
        (
            "python3 llama_server.py --sleep-idle-seconds -1",
            Some(""),
            true,
        ),
        ("python3 -m vllm", Some(""), false),
    ] {
        assert_eq!(
            read(line, environment).never_sleeps(),
            never,
            "{line} {environment:?}"
        );
    }
}

#[test]
fn an_unreadable_environment_leaves_unset_flags_unknown() {
    let flags = read("llama-server -m /m/a.gguf", None);
    assert_eq!(
        (flags.type_k, flags.ubatch, flags.unified),
        (None, None, None)
    );
}

#[test]
fn the_environment_counts_where_the_command_line_is_silent() {
    let environment = "LLAMA_ARG_MODEL=/m/e.gguf\0LLAMA_ARG_CTX_SIZE=2048\0";
    let flags = read("llama-server --port 1", Some(environment));
    assert_eq!(flags.models, [("LLAMA_ARG_MODEL", "/m/e.gguf".into())]);
    assert_eq!(flags.context, Some(2048));
    let flags = read("llama-server -m /m/a.gguf -c 512", Some(environment));
    assert_eq!(flags.models, [("-m", "/m/a.gguf".into())]);
    assert_eq!(flags.context, Some(512));
}

#[test]
fn python_modules_are_no_models_and_its_flags_are_not_believed() {
    let flags = read(
        "python3 -m vllm.entrypoints -c 100 --model /m/b.gguf",
        Some(""),
    );
    assert_eq!(flags.models, [("-m", "/m/b.gguf".into())]);
    assert_eq!((flags.context, flags.is_llama), (None, false));
}

#[test]
fn flash_attention_with_and_without_a_value() {
    assert_eq!(
        read("llama-server -fa -c 1", Some("")).flash_attention,
        Some(true)
    );
    assert_eq!(
        read("llama-server -fa off -c 1", Some("")).flash_attention,
        Some(false)
    );
    assert_eq!(
        read("llama-server -fa auto", Some("")).flash_attention,
        None
    );
    assert_eq!(read("llama-server -fa off -c 7", Some("")).context, Some(7));
}

#[test]
fn flags_of_projector_draft_and_placement_are_read() {
    let flags = read(
        "llama-server -m /m/a.gguf -md /m/d.gguf -ngld all -ctkd q8_0 --mmproj /m/p.gguf \
         --no-mmproj-offload -ot exps=CPU --n-cpu-moe 4",
        Some(""),
    );
    let named = [
        ("-m", "/m/a.gguf".into()),
        (DRAFT_FLAG, "/m/d.gguf".into()),
        (PROJECTOR_FLAG, "/m/p.gguf".into()),
    ];
    assert_eq!(flags.models, named);
    assert_eq!(flags.draft.gpu_layers, Some(u64::MAX));
    let types = (flags.draft.type_k, flags.draft.type_v);
    assert_eq!(types, (Some(CacheType::Q8_0), Some(CacheType::F16)));
    assert!(flags.projector_on_cpu);
    let placed = [
        Placed::Pattern("exps=CPU".into()),
        Placed::Experts(ExpertsOnCpu::FirstLayers(4)),
    ];
    assert_eq!(flags.placed, placed);
    assert!(!flags.overrides().is_unreadable());
}

#[test]
fn a_flag_at_the_end_without_its_value_is_ignored() {
    assert_eq!(read("llama-server -c", Some("")).context, None);
    assert!(read("llama-server -m", Some("")).models.is_empty());
}
