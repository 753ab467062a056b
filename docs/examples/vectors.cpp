// A program that answers posref's vectors:  g++ -std=c++17 -O2 vectors.cpp -o vectors && ./vectors DIR OUTPUT_DIR
//
// It reads DIR/manifest.json, computes rope_apply and alibi_slopes, and writes one safetensors file per vector. Of the rest it
// says that it does not implement it: a file without tensors, with "not_implemented" among its metadata.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct NotImplemented : std::runtime_error { using std::runtime_error::runtime_error; };

// --- JSON: as much of it as a manifest has ------------------------------------------------------------------------------------

struct Json {
  enum Kind { Null, Bool, Number, Text, List, Record } kind = Null;
  double number = 0;  // of a boolean, 0 or 1
  std::string text;
  std::vector<Json> list;
  std::map<std::string, Json> record;

  bool has(const std::string& name) const { return record.count(name) > 0; }
  const Json& operator[](const std::string& name) const { return record.at(name); }
};

class Parser {
 public:
  explicit Parser(const std::string& source) : at_(source.c_str()) {}

  Json value() {
    Json json;
    switch (next()) {
      case '{':
        json.kind = Json::Record;
        for (++at_; next() != '}'; skip(',')) {
          std::string name = string();
          skip(':');
          json.record[name] = value();
        }
        ++at_;
        break;
      case '[':
        json.kind = Json::List;
        for (++at_; next() != ']'; skip(',')) json.list.push_back(value());
        ++at_;
        break;
      case '"': json.kind = Json::Text, json.text = string(); break;
      case 't': json.kind = Json::Bool, json.number = 1, at_ += 4; break;
      case 'f': json.kind = Json::Bool, at_ += 5; break;
      case 'n': at_ += 4; break;
      default: {
        char* end;
        json.kind = Json::Number, json.number = std::strtod(at_, &end);
        if (end == at_) throw std::runtime_error("no JSON");
        at_ = end;
      }
    }
    return json;
  }

 private:
  char next() {
    while (std::isspace(static_cast<unsigned char>(*at_))) ++at_;
    return *at_;
  }
  void skip(char c) { if (next() == c) ++at_; }
  std::string string() {
    std::string text;
    next();
    for (++at_; *at_ != '"' && *at_; ++at_) text += *at_ == '\\' ? *++at_ : *at_;  // names and ids need no \n or \u
    ++at_;
    return text;
  }
  const char* at_;
};

// --- safetensors: 8 bytes of length, a header in JSON, the tensors one after the other ----------------------------------------

struct Tensor {
  std::string dtype;  // F32, F64, ...
  std::vector<size_t> shape;
  std::string bytes;

  size_t last() const { return shape.back(); }
  template <class T> const T* values() const { return reinterpret_cast<const T*>(bytes.data()); }
  template <class T> T* values() { return reinterpret_cast<T*>(&bytes[0]); }
};

using Tensors = std::map<std::string, Tensor>;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensors read_tensors(const std::filesystem::path& path) {
  const std::string content = read(path);
  uint64_t length;
  std::memcpy(&length, content.data(), 8);
  const Json header = Parser(content.substr(8, length)).value();
  Tensors tensors;
  for (const auto& [name, about] : header.record) {
    if (name == "__metadata__") continue;
    Tensor tensor{about["dtype"].text, {}, {}};
    for (const Json& n : about["shape"].list) tensor.shape.push_back(static_cast<size_t>(n.number));
    const size_t begin = about["data_offsets"].list[0].number, end = about["data_offsets"].list[1].number;
    tensor.bytes = content.substr(8 + length + begin, end - begin);
    tensors[name] = tensor;
  }
  return tensors;
}

void write_tensors(const std::filesystem::path& path, const Tensors& tensors, const std::string& not_implemented = "") {
  std::ostringstream header;
  size_t end = 0;
  header << '{';
  if (!not_implemented.empty()) header << R"("__metadata__":{"not_implemented":")" << not_implemented << "\"}";
  for (const auto& [name, tensor] : tensors) {
    header << (end || header.str().size() > 1 ? "," : "") << '"' << name << R"(":{"dtype":")" << tensor.dtype << R"(","shape":[)";
    for (size_t i = 0; i < tensor.shape.size(); ++i) header << (i ? "," : "") << tensor.shape[i];
    header << R"(],"data_offsets":[)" << end << ',' << end + tensor.bytes.size() << "]}";
    end += tensor.bytes.size();
  }
  header << '}';
  std::string text = header.str();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), 8) << text;
  for (const auto& [name, tensor] : tensors) file << tensor.bytes;
}

// --- the functions under test --------------------------------------------------------------------------------------------------

struct Arguments {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, Json> values;
};

// Where the channels of pair i lie.
std::pair<size_t, size_t> channels(bool half, size_t i, size_t pairs, size_t offset) {
  if (half) return {offset + i, offset + i + pairs};
  return {offset + 2 * i, offset + 2 * i + 1};
}

template <class T> Tensor rotated(const Arguments& given) {
  const Tensor &x = given.tensors.at("x"), &cos = given.tensors.at("cos"), &sin = given.tensors.at("sin");
  const std::string layout = given.values.at("layout").text;
  const Json& other = given.values.at("output_layout");
  const bool half = layout == "half", half_out = (other.kind == Json::Text ? other.text : layout) == "half";
  const size_t offset = given.values.at("offset").number, width = x.last(), pairs = cos.last();
  const T sign = given.values.at("inverse").number ? -1 : 1;
  Tensor y = x;  // what does not rotate passes through
  for (size_t row = 0; row < x.bytes.size() / sizeof(T) / width; ++row) {
    size_t table = 0, step = 1, left = row;  // the tables' axes are the last ones of x; those of length 1 stand for all
    for (size_t back = 2; back <= x.shape.size(); ++back) {
      const size_t rows = x.shape[x.shape.size() - back], index = left % rows;
      const size_t size = back <= cos.shape.size() ? cos.shape[cos.shape.size() - back] : 1;
      table += (size == 1 ? 0 : index) * step;
      step *= size;
      left /= rows;
    }
    for (size_t i = 0; i < pairs; ++i) {
      const auto [p, q] = channels(half, i, pairs, offset);
      const auto [to, too] = channels(half_out, i, pairs, offset);
      const T a = x.values<T>()[row * width + p], b = x.values<T>()[row * width + q];
      const T c = cos.values<T>()[table * pairs + i], s = sign * sin.values<T>()[table * pairs + i];
      y.values<T>()[row * width + to] = a * c - b * s;
      y.values<T>()[row * width + too] = a * s + b * c;
    }
  }
  return y;
}

Tensor rope_apply(const Arguments& given) {
  const std::string dtype = given.tensors.at("x").dtype;
  if (dtype == "F32") return rotated<float>(given);
  if (dtype == "F64") return rotated<double>(given);
  throw NotImplemented("type " + dtype);
}

Tensor alibi_slopes(const Arguments& given) {
  const int all = given.values.at("num_heads").number, power = 1 << static_cast<int>(std::log2(all));
  const double most = given.values.at("bias_max").number, scale = given.values.at("scale").number;
  const bool geometric = given.values.at("rule").text == "geometric";
  const std::vector<Json>& range = given.values.at("heads").list;  // none of it: all heads
  const int first = range.empty() ? 0 : range[0].number, end = range.empty() ? all : range[1].number;
  Tensor slopes{"F64", {static_cast<size_t>(end - first)}, std::string(8 * (end - first), '\0')};
  for (int h = first; h < end; ++h) {
    const double share = geometric ? (h + 1.0) / all : h < power ? (h + 1.0) / power : (2.0 * (h - power) + 1) / (2.0 * power);
    slopes.values<double>()[h - first] = scale * std::exp2(-most * share);
  }
  return slopes;
}

const std::map<std::string, Tensor (*)(const Arguments&)> FUNCTIONS = {{"rope_apply", rope_apply}, {"alibi_slopes", alibi_slopes}};

// --- vector by vector ----------------------------------------------------------------------------------------------------------

Tensors answer(const std::filesystem::path& folder, const Json& vector, const Json& parameters) {
  if (!FUNCTIONS.count(vector["function"].text)) throw NotImplemented(vector["function"].text);
  for (const Json& flag : vector["flags"].list)
    if (flag.text == "gradient") throw NotImplemented("gradients");
  const Tensors inputs = read_tensors(folder / vector["inputs"]["file"].text);
  Tensors results;
  for (const Json& call : vector["calls"].list) {
    Arguments given;  // every parameter: its default, unless the call has another value or a tensor
    for (const auto& [name, about] : parameters.record)
      if (about.has("default")) given.values[name] = about["default"];
    for (const auto& [name, argument] : call["arguments"].record) {
      if (argument.has("tensor")) given.tensors[name] = inputs.at(argument["tensor"].text);
      else given.values[name] = argument["value"];
    }
    results[call["outputs"]["result"]["tensor"].text] = FUNCTIONS.at(vector["function"].text)(given);
  }
  return results;
}

int main(int count, char** arguments) {
  if (count != 3) return std::cerr << "usage: vectors DIR OUTPUT_DIR\n", 2;
  const std::filesystem::path folder = arguments[1], outputs = arguments[2];
  const Json manifest = Parser(read(folder / "manifest.json")).value();
  for (const Json& vector : manifest["vectors"].list) {
    const std::filesystem::path path = outputs / (vector["id"].text + ".safetensors");
    try {
      write_tensors(path, answer(folder, vector, manifest["functions"][vector["function"].text]));
    } catch (const NotImplemented& problem) {
      write_tensors(path, {}, problem.what());
    }
  }
}
