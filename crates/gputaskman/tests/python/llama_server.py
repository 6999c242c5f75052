"""Writes a tiny seeded llama model and serves it with a real llama.cpp server on the processor.

    llama_server.py -m MODEL.gguf -c CONTEXT -np SLOTS --port PORT [--sleep-idle-seconds SECONDS]

The flags are llama-server's own, so that the command line of this process is read like one. Prints READY once the
server listens, and ends when its standard input is closed.
"""

import argparse
import os
import sys

import gguf
import numpy as np
import xllamacpp as llama

LAYERS, HEADS, KV_HEADS, HEAD_DIM, FEED_FORWARD = 4, 8, 2, 32, 512
WIDTH = HEADS * HEAD_DIM
CONTEXT = 8192


def vocabulary():
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += ["\u2581" + word for word in ("a", "b", "the", "of", "to")] + ["\u2581"]
    kinds = [2, 3, 3] + [6] * 256 + [1] * 6
    scores = [0.0] * 259 + [-float(rank) for rank in range(6)]
    return tokens, scores, kinds


def write_model(path):
    random = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "llama")
    tokens, scores, kinds = vocabulary()
    writer.add_name("Tiny test llama")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def matrix(name, rows, columns):
        values = (random.standard_normal((rows, columns)) * 0.02).astype(np.float32)
        quantized = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(name, quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)

    def norm(name):
        writer.add_tensor(name, np.ones(WIDTH, dtype=np.float32))

    matrix("token_embd.weight", len(tokens), WIDTH)
    norm("output_norm.weight")
    matrix("output.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        norm(block + "attn_norm.weight")
        matrix(block + "attn_q.weight", WIDTH, WIDTH)
        matrix(block + "attn_k.weight", KV_HEADS * HEAD_DIM, WIDTH)
        matrix(block + "attn_v.weight", KV_HEADS * HEAD_DIM, WIDTH)
        matrix(block + "attn_output.weight", WIDTH, WIDTH)
        norm(block + "ffn_norm.weight")
        matrix(block + "ffn_gate.weight", FEED_FORWARD, WIDTH)
        matrix(block + "ffn_up.weight", FEED_FORWARD, WIDTH)
        matrix(block + "ffn_down.weight", WIDTH, FEED_FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("-c", dest="context", type=int, required=True)
    parser.add_argument("-np", dest="slots", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sleep-idle-seconds", dest="idle", type=int, default=-1)
    options = parser.parse_args()
    if not os.path.exists(options.model):
        write_model(options.model)
    parameters = llama.CommonParams()
    parameters.model.path = options.model
    parameters.n_ctx = options.context
    parameters.n_parallel = options.slots
    parameters.port = options.port
    parameters.sleep_idle_seconds = options.idle
    parameters.verbosity = 0
    server = llama.Server(parameters)
    print("READY", server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


main()
