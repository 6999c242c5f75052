//! Files as the programs that own the formats write them.

use serde_json::{Value, json};

/// A safetensors file with this header and so many bytes of data.
pub(crate) fn safetensors(header: &Value, data: usize) -> Vec<u8> {
    let header = serde_json::to_vec(header).unwrap();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.resize(file.len() + data, 0x2a);
    file
}

/// One entry of a safetensors table.
pub(crate) fn tensor(dtype: &str, shape: &[u64], begin: u64, end: u64) -> Value {
    json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, end]})
}

/// A small language model: 24 numbers of BF16, 4 of F32.
pub(crate) fn small_safetensors() -> Vec<u8> {
    safetensors(
        &json!({
            "__metadata__": {"format": "pt", "comment": "zorgon's secret"},
            "model.embed_tokens.weight": tensor("BF16", &[4, 6], 0, 48),
            "model.norm.weight": tensor("F32", &[4], 48, 64),
        }),
        64,
    )
}

/// Entries of a zip archive, stored without compression.
pub(crate) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in entries {
        let size = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        let at = u32::try_from(file.len()).unwrap().to_le_bytes();
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        file.extend(b"PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        file.extend([&size[..], &size, &length, &[0, 0], name.as_bytes(), bytes].concat());
        directory.extend(b"PK\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        directory.extend([&size[..], &size, &length, &[0; 12], &at, name.as_bytes()].concat());
    }
    let at = u32::try_from(file.len()).unwrap().to_le_bytes();
    let size = u32::try_from(directory.len()).unwrap().to_le_bytes();
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0\0\0\0\0");
    file.extend([&size[..], &at, &[0, 0]].concat());
    file
}

/// What `torch.save` writes.
pub(crate) fn torch_archive() -> Vec<u8> {
    zip(&[
        ("archive/data.pkl", b"\x80\x02}q\x00."),
        ("archive/byteorder", b"little"),
        ("archive/data/0", &[0; 40]),
        ("archive/data/1", &[0; 8]),
        ("archive/version", b"3\n"),
        ("archive/.data/serialization_id", b"1"),
    ])
}

/// A protobuf field with a length.
pub(crate) fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [
        varint(number << 3 | 2),
        varint(bytes.len() as u64),
        bytes.to_vec(),
    ]
    .concat()
}

/// A protobuf field with a number.
pub(crate) fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// An ONNX tensor with its weights in the file.
pub(crate) fn onnx_tensor(dtype: u64, dims: &[u64], data: usize) -> Vec<u8> {
    let mut tensor: Vec<u8> = dims.iter().flat_map(|size| number(1, *size)).collect();
    tensor.extend(number(2, dtype));
    tensor.extend(field(8, b"weight"));
    tensor.extend(field(9, &vec![0; data]));
    tensor
}

/// An ONNX tensor with its weights in another file.
pub(crate) fn onnx_external(dtype: u64, dims: &[u64], location: &str) -> Vec<u8> {
    let mut tensor: Vec<u8> = dims.iter().flat_map(|size| number(1, *size)).collect();
    tensor.extend(number(2, dtype));
    tensor.extend(field(
        13,
        &[field(1, b"location"), field(2, location.as_bytes())].concat(),
    ));
    tensor.extend(field(13, &[field(1, b"offset"), field(2, b"0")].concat()));
    tensor.extend(number(14, 1));
    tensor
}

/// An ONNX model with these tensors.
pub(crate) fn onnx(tensors: &[Vec<u8>]) -> Vec<u8> {
    let mut graph = field(1, &field(4, b"MatMul"));
    graph.extend(field(2, b"main_graph"));
    graph.extend(tensors.iter().flat_map(|tensor| field(5, tensor)));
    let mut file = number(1, 10);
    file.extend(field(2, b"pytorch"));
    file.extend(field(3, b"2.9.0"));
    file.extend(field(7, &graph));
    file.extend(field(8, &number(2, 18)));
    file
}

/// whisper.cpp's numbers of its base model, in a file type.
pub(crate) fn whisper(file_type: u32) -> Vec<u8> {
    let numbers = [
        51_865, 1500, 512, 8, 6, 448, 512, 8, 6, 80, file_type, 80, 201,
    ];
    let mut file = b"lmgg".to_vec();
    file.extend(numbers.iter().flat_map(|number: &u32| number.to_le_bytes()));
    file.resize(200, 0);
    file
}
