//! What processes are for, by their words and their load.

use super::*;

#[test]
fn what_load_decided_stands_for_a_minute_and_no_longer() {
    let at = |second: u64| Stamp {
        mono_ns: second * 1_000_000_000,
        wall_us: 0,
    };
    let mut by_load = ByLoad::default();
    let none = (Category::Other, NO_RULE);
    assert_eq!(by_load.held(none, at(0)), none);
    let video = (Category::Video, VIDEO_ENGINE);
    assert_eq!(by_load.held(video, at(1)), video);
    assert_eq!(by_load.held(none, at(60)), video);
    assert_eq!(by_load.held(none, at(61)), none);
    // What is known otherwise is not overruled.
    let model = (Category::Llm, "gguf_header");
    by_load.held(video, at(70));
    assert_eq!(by_load.held(model, at(71)), model);
}

fn of_line(line: &str, executable: Option<&str>) -> Option<Found> {
    let words: Vec<Text> = line.split(' ').map(Text::from).collect();
    let program = Program::of(&words, executable, Some("/srv/ComfyUI"));
    of_program(&program, &words, executable)
}

#[test]
fn every_kind_of_program_is_known_by_its_command_line() {
    use Category::{Ai, Browser, Desktop, Graphics3d, Llm, Other, Training, Video};
    for (line, category, rule) in [
        ("/opt/llama-server -m /m/a.gguf", Llm, "process_name"),
        ("llama serve -hf org/name", Llm, "command_line"),
        ("./server -m /m/a.gguf", Llm, "command_line"),
        ("ollama serve", Llm, "process_name"),
        ("/tmp/ollama_llama_server --port 1", Llm, "process_name"),
        ("com.docker.llama-server.exe --x", Llm, "process_name"),
        ("/opt/lm-studio", Llm, "process_name"),
        ("llmster", Llm, "process_name"),
        ("./koboldcpp_cu12 --model x", Llm, "process_name"),
        ("/h/Model.llamafile", Llm, "process_name"),
        ("local-ai run", Llm, "process_name"),
        ("jan", Llm, "process_name"),
        ("gpt4all", Llm, "process_name"),
        ("text-generation-launcher --x", Llm, "process_name"),
        ("tritonserver --x", Llm, "process_name"),
        ("/v/bin/python3 /v/bin/trtllm-serve m", Llm, "process_name"),
        ("python3 -m mlx_lm.server", Llm, "command_line"),
        (
            "python3 -m vllm.entrypoints.openai.api_server",
            Llm,
            "command_line",
        ),
        ("/v/bin/python /v/bin/vllm serve m", Llm, "command_line"),
        ("VLLM::EngineCore", Llm, "process_name"),
        ("VLLM::Worker_TP0", Llm, "process_name"),
        ("python3 -m sglang.launch_server", Llm, "command_line"),
        ("sglang::scheduler_TP0", Llm, "process_name"),
        ("python main.py --listen", Ai, "command_line"),
        ("python webui.py", Ai, "process_name"),
        (
            "python /h/stable-diffusion-webui-forge/launch.py",
            Ai,
            "command_line",
        ),
        (
            "python /h/text-generation-webui/server.py",
            Llm,
            "command_line",
        ),
        ("python /h/tabbyAPI/main.py", Llm, "command_line"),
        ("python /v/bin/whisper a.wav", Ai, "process_name"),
        ("python -m faster_whisper", Ai, "command_line"),
        ("python -m llama_cpp.server", Llm, "command_line"),
        ("python /v/bin/torchrun x.py", Ai, "training_hint"),
        ("python -m torch.distributed.run x.py", Ai, "training_hint"),
        (
            "python -m torch.distributed.launch x.py",
            Ai,
            "training_hint",
        ),
        ("python /v/bin/accelerate launch x.py", Ai, "training_hint"),
        ("python /v/bin/deepspeed x.py", Ai, "training_hint"),
        ("python train_gpt.py", Ai, "training_hint"),
        ("python -m lightning run", Ai, "training_hint"),
        (
            "python -m axolotl.cli.train c.yml",
            Training,
            "command_line",
        ),
        ("python /v/bin/unsloth studio", Training, "process_name"),
        (
            "python /v/bin/llamafactory-cli train c.yml",
            Training,
            "command_line",
        ),
        ("python /v/bin/trl sft --x", Training, "command_line"),
        (
            "python /h/sd-scripts/flux_train_network.py",
            Training,
            "command_line",
        ),
        (
            "python /h/ai-toolkit/run.py c.yml",
            Training,
            "command_line",
        ),
        (
            "/opt/google/chrome/chrome --type=gpu-process",
            Browser,
            "browser_gpu_process",
        ),
        (
            "/opt/google/chrome/chrome --type=renderer",
            Browser,
            "browser_page",
        ),
        (
            "/opt/google/chrome/chrome --type=utility",
            Browser,
            "browser_helper",
        ),
        ("/usr/bin/chromium", Browser, "process_name"),
        (
            "C:\\x\\msedge.exe --type=gpu-process",
            Browser,
            "browser_gpu_process",
        ),
        ("/usr/lib/firefox/firefox", Browser, "process_name"),
        (
            "/usr/lib/firefox/firefox -contentproc -x 3 tab",
            Browser,
            "browser_page",
        ),
        ("brave --x", Browser, "process_name"),
        ("opera", Browser, "process_name"),
        ("vivaldi-bin", Browser, "process_name"),
        ("/S/com.apple.WebKit.GPU", Browser, "process_name"),
        ("C:\\Windows\\dwm.exe", Desktop, "process_name"),
        ("csrss.exe", Desktop, "process_name"),
        ("/usr/bin/gnome-shell", Desktop, "process_name"),
        ("/usr/bin/kwin_wayland --x", Desktop, "process_name"),
        ("kwin_x11", Desktop, "process_name"),
        ("/usr/lib/xorg/Xorg :0", Desktop, "process_name"),
        ("Xwayland :1", Desktop, "process_name"),
        ("sway", Desktop, "process_name"),
        ("Hyprland", Desktop, "process_name"),
        ("mutter", Desktop, "process_name"),
        ("weston", Desktop, "process_name"),
        ("cosmic-comp", Desktop, "process_name"),
        ("gamescope-wl", Desktop, "process_name"),
        ("WindowServer", Desktop, "process_name"),
        ("ffmpeg -i x", Video, "process_name"),
        ("obs", Video, "process_name"),
        ("obs64.exe", Video, "process_name"),
        ("mpv x", Video, "process_name"),
        ("vlc", Video, "process_name"),
        ("HandBrakeCLI", Video, "process_name"),
        ("resolve", Video, "process_name"),
        ("gpu-screen-recorder -w x", Video, "process_name"),
        ("sunshine", Video, "process_name"),
        ("nvcontainer.exe", Video, "process_name"),
        (
            "/h/steamapps/common/Game/game.x86_64",
            Graphics3d,
            "game_folder",
        ),
        ("Foo-Win64-Shipping.exe", Graphics3d, "process_name"),
        ("blender", Graphics3d, "process_name"),
        ("Godot_v4.2", Graphics3d, "process_name"),
        ("unityhub", Graphics3d, "process_name"),
        ("explorer.exe", Desktop, "process_name"),
        ("SearchHost.exe", Desktop, "process_name"),
        ("ShellExperienceHost.exe", Desktop, "process_name"),
        (
            "/opt/slack/slack --type=gpu-process",
            Desktop,
            "browser_engine",
        ),
        (
            "/opt/LM-Studio/lm-studio --type=gpu-process",
            Desktop,
            "browser_engine",
        ),
        (
            "/opt/LM-Studio/lm-studio --type=utility",
            Llm,
            "process_name",
        ),
        ("nvtop", Other, "monitor"),
        ("python3 /v/bin/nvitop", Other, "monitor"),
    ] {
        assert_eq!(of_line(line, None), Some((category, rule)), "{line}");
    }
}

#[test]
fn lookalikes_are_nothing() {
    for line in [
        "obsidian",
        "python3 app.py",
        "python3 /srv/llama-server/main.py",
        "python3 server.py",
        "python3 /home/vllm/run.py",
        "python3 trainspotting.py",
        "/home/ollama/notes",
        "/home/steamapps/x/common/y",
        "chromecast",
        "server --port 1",
        "janitor",
        "accelerated launch",
    ] {
        assert_eq!(of_line(line, None), None, "{line}");
    }
}

#[test]
fn words_of_the_command_line_go_before_the_name_of_the_process() {
    assert_eq!(
        of_line("python3 -m vllm.x", Some("/usr/bin/firefox")).map(|it| it.0),
        Some(Category::Llm)
    );
    let wine = Some("/opt/proton/bin/wine64-preloader");
    assert_eq!(
        of_line("Z:\\games\\Quake.exe", wine),
        Some((Category::Graphics3d, "wine"))
    );
    assert_eq!(of_line("Z:\\games\\Quake.exe", None), None);
    assert_eq!(
        of_line("C:\\windows\\explorer.exe", wine).map(|it| it.0),
        Some(Category::Desktop)
    );
}

#[test]
fn names_decide_by_whole_word_or_marked_prefix() {
    let of = |name: &str| of_name(&Program::named(name)).map(|it| it.0);
    assert_eq!(of("Xorg"), Some(Category::Desktop));
    assert_eq!(of("chrome_crashpad"), Some(Category::Browser));
    assert_eq!(of("obsidian"), None, "obs is a whole word");
    assert_eq!(of("llama-server"), Some(Category::Llm));
    assert_eq!(of("gpu-screen-reco"), Some(Category::Video));
    assert_eq!(of("VLLM::EngineCor"), Some(Category::Llm));
    assert_eq!(of("python3"), None);
}

#[test]
fn a_program_that_maps_nothing_but_nvml_watches() {
    let at = Stamp {
        mono_ns: 0,
        wall_us: 0,
    };
    let from = model::Provenance {
        source: model::Source::Proc,
        counter: "maps",
        at,
    };
    let runtimes = |names: &[&'static str]| {
        let runtime = |name: &&'static str| Runtime {
            name,
            library: "x".into(),
        };
        Reading::measured(names.iter().map(runtime).collect(), from)
    };
    let name = Reading::measured(Text::from("watcher"), from);
    let of = |names: &[&'static str]| categorise(&name, None, &[], &runtimes(names), &[]);
    assert_eq!(of(&[NVML]), (Category::Other, "monitor_library"));
    assert_eq!(of(&["CUDA", NVML]), (Category::Other, NO_RULE));
    assert_eq!(of(&["PyTorch", NVML]), (Category::Ai, "ai_runtime"));
    assert_eq!(of(&[UNITY]), (Category::Graphics3d, "game_library"));
}

#[test]
fn a_name_decides_where_the_file_does_not_and_only_for_what_is_there() {
    use super::super::claim::{About, Claim, Named};
    use model::EvidenceKind;

    let at = Stamp {
        mono_ns: 0,
        wall_us: 0,
    };
    let from = model::Provenance {
        source: model::Source::Proc,
        counter: "maps",
        at,
    };
    let nothing = Reading::missing(model::Gap::NotFound, from);
    let of = |path: &str, by, kind| {
        let about = About {
            kind,
            ..About::default()
        };
        let claim = Claim {
            named: Named::File(path.into()),
            kind: Some(by),
            detail: "-m".into(),
            at,
            about,
        };
        let model = super::super::described::without_file(&[&claim], 0, at).unwrap();
        let found = categorise(
            &Reading::missing(model::Gap::NotFound, from),
            None,
            std::slice::from_ref(&model),
            &nothing,
            &[],
        );
        (found, model.kind_label())
    };
    let hinted = of("/m/kev.gguf", EvidenceKind::CommandLine, None);
    assert_eq!(hinted.0, (Category::Decision, "name_hint"));
    assert_eq!(&*hinted.1, "likely decision model (name)");
    let known = of("/m/kev.gguf", EvidenceKind::Api, Some(ModelKind::Llm));
    assert_eq!(known.0, (Category::Llm, "gguf_header"));
    assert_eq!(&*known.1, "LLM");
    let old = of("/m/kev.gguf", EvidenceKind::Settings, None);
    assert_eq!(old.0, (Category::Other, NO_RULE));
}
