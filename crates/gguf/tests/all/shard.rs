//! Names of the parts of a split model.

use gguf::ShardName;

#[test]
fn parts_are_named_by_number_and_count() {
    let shard = ShardName::parse("/models/Big-Q4_K_M-00002-of-00012.gguf").unwrap();
    assert_eq!(
        (shard.stem, shard.number, shard.count),
        ("/models/Big-Q4_K_M", 2, 12)
    );
    assert_eq!(
        shard.sibling(1).as_deref(),
        Some("/models/Big-Q4_K_M-00001-of-00012.gguf")
    );
    assert_eq!(
        shard.sibling(12).as_deref(),
        Some("/models/Big-Q4_K_M-00012-of-00012.gguf")
    );
    assert_eq!((shard.sibling(0), shard.sibling(13)), (None, None));
}

#[test]
fn other_names_are_not_parts() {
    for name in [
        "model.gguf",
        "model-00001-of-00002.bin",
        "model-1-of-2.gguf",
        "model-00003-of-00002.gguf",
        "model-00000-of-00002.gguf",
        "00001-of-00002.gguf",
        "model-0000a-of-00002.gguf",
        "é-0000é-of-00002.gguf",
        "",
    ] {
        assert_eq!(ShardName::parse(name), None, "{name}");
    }
}
