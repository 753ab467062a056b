// A program that answers posref's vectors, for Node 18 or newer:  node vectors.mjs DIR OUTPUT_DIR
//
// It reads DIR/manifest.json, computes rope_apply and alibi_slopes, and writes one safetensors file per vector. Of the rest it
// says that it does not implement it: a file without tensors, with "not_implemented" among its metadata.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ARRAYS = { F32: Float32Array, F64: Float64Array };

class NotImplemented extends Error {}

// --- safetensors: 8 bytes of length, a header in JSON, the tensors one after the other --------------------------------------

function readTensors(path) {
  const bytes = readFileSync(path);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(JSON.parse(bytes.subarray(8, start)))) {
    if (name === "__metadata__") continue;
    const data = bytes.buffer.slice(bytes.byteOffset + start + begin, bytes.byteOffset + start + end);
    tensors[name] = { dtype, shape, values: ARRAYS[dtype] && new ARRAYS[dtype](data) };
  }
  return tensors;
}

function writeTensors(path, tensors, metadata) {
  const header = metadata ? { __metadata__: metadata } : {};
  let end = 0;
  for (const [name, { dtype, shape, values }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [end, (end += values.byteLength)] };
  }
  let text = JSON.stringify(header);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const data = Object.values(tensors).map(({ values: v }) => Buffer.from(v.buffer, v.byteOffset, v.byteLength));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.concat([length, Buffer.from(text), ...data]));
}

// --- the functions under test -------------------------------------------------------------------------------------------------

// Where the channels of pair i lie.
function channels(layout, i, pairs, offset) {
  return layout === "half" ? [offset + i, offset + i + pairs] : [offset + 2 * i, offset + 2 * i + 1];
}

function ropeApply({ x, cos, sin, layout, output_layout, offset, inverse }) {
  if (!x.values) throw new NotImplemented(`type ${x.dtype}`);
  const width = x.shape.at(-1), pairs = cos.shape.at(-1);
  const rows = x.shape.slice(0, -1), tableRows = cos.shape.slice(0, -1);
  const y = x.values.slice(); // what does not rotate passes through
  for (let row = 0; row < y.length / width; row++) {
    let table = 0, step = 1; // the row of the tables: their axes are the last ones of x, those of length 1 stand for all
    for (let axis = rows.length - 1, left = row; axis >= 0; axis--) {
      const index = left % rows[axis], size = tableRows[axis - rows.length + tableRows.length] ?? 1;
      table += (size === 1 ? 0 : index) * step;
      step *= size;
      left = Math.floor(left / rows[axis]);
    }
    for (let i = 0; i < pairs; i++) {
      const [p, q] = channels(layout, i, pairs, offset), [to, too] = channels(output_layout ?? layout, i, pairs, offset);
      const a = x.values[row * width + p], b = x.values[row * width + q];
      const c = cos.values[table * pairs + i], s = inverse ? -sin.values[table * pairs + i] : sin.values[table * pairs + i];
      y[row * width + to] = a * c - b * s;
      y[row * width + too] = a * s + b * c;
    }
  }
  return { result: { dtype: x.dtype, shape: x.shape, values: y } };
}

function alibiSlopes({ num_heads: all, bias_max: most, rule, scale, heads }) {
  const [first, end] = heads ?? [0, all];
  const power = 2 ** Math.floor(Math.log2(all));
  const share = (h) =>
    rule === "geometric" ? (h + 1) / all : h < power ? (h + 1) / power : (2 * (h - power) + 1) / (2 * power);
  const slopes = Float64Array.from({ length: end - first }, (_, i) => scale * 2 ** (-most * share(first + i)));
  return { result: { dtype: "F64", shape: [end - first], values: slopes } };
}

const FUNCTIONS = { rope_apply: ropeApply, alibi_slopes: alibiSlopes };

// --- vector by vector ---------------------------------------------------------------------------------------------------------

const [folder, outputs] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
for (const vector of manifest.vectors) {
  const path = join(outputs, `${vector.id}.safetensors`);
  const inputs = readTensors(join(folder, vector.inputs.file));
  const results = {};
  try {
    const answer = FUNCTIONS[vector.function];
    if (!answer || vector.flags.includes("gradient")) throw new NotImplemented(vector.function);
    for (const call of vector.calls) {
      const given = {}; // every parameter: its default, unless the call has another value or a tensor
      for (const [name, { default: value }] of Object.entries(manifest.functions[vector.function])) given[name] = value;
      for (const [name, { tensor, value }] of Object.entries(call.arguments)) given[name] = tensor ? inputs[tensor] : value;
      const answers = answer(given);
      for (const [name, { tensor }] of Object.entries(call.outputs)) results[tensor] = answers[name];
    }
    writeTensors(path, results);
  } catch (problem) {
    if (!(problem instanceof NotImplemented)) throw problem;
    writeTensors(path, {}, { not_implemented: problem.message });
  }
}
