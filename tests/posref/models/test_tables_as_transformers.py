"""Tables that are added to the embeddings, against transformers' classes with their default sizes: shapes, and the first row."""

from __future__ import annotations

import inspect
import json
import math

import numpy as np
import pytest
from model_peer import modeling, torch, transformers

from posref import sinusoidal
from posref.models import LearnedEncoding, SinusoidalEncoding, read_config, tables

pytestmark = pytest.mark.peers

ELSEWHERE = {
    "bark": "three models",
    "blip_text_model": "AutoModel does not know it by itself",
    "musicgen_decoder": "its table is made when it is used; compared below",
    "musicgen_melody_decoder": "as musicgen_decoder",
    "layoutlmv2": "it needs detectron2",
    "pegasus_x": "it has no table, but makes the sinusoids when it is used",
    "gpt-sw3": "a tokenizer's name; the model is GPT-2",
}
NAMES = [name for name in sorted(tables.FAMILIES) if name in transformers.CONFIG_MAPPING and name not in ELSEWHERE]


def told(model_type, **more):
    """A class's defaults, all of them written out, as a file would have them; and its config."""
    config = transformers.CONFIG_MAPPING[model_type](**more)
    return {**json.loads(config.to_json_string(use_diff=False)), "model_type": model_type}, config


def class_of(config):
    if type(config) in transformers.AutoModel._model_mapping:
        found = transformers.AutoModel._model_mapping[type(config)]
        return found[0] if isinstance(found, tuple) else found
    classes = [
        c for c in vars(modeling(config)).values() if inspect.isclass(c) and issubclass(c, transformers.PreTrainedModel)
    ]
    fitting = [
        c for c in classes if isinstance(config, getattr(c, "config_class", None) or ()) and "PreT" not in c.__name__
    ]
    return min(fitting, key=lambda c: (not c.__name__.endswith(("Model", "Encoder", "Decoder")), len(c.__name__)))


def built(config):
    with torch.device("meta"):
        return class_of(config)._from_config(config)


def is_position(name):
    return any(word in name.lower() for word in ("pos", "wpe"))


@pytest.mark.parametrize("model_type", NAMES)
def test_shapes(model_type):
    values, config = told(model_type)
    encodings = read_config(values).encodings
    model = built(config)
    found = [tuple(t.shape) for n, t in (*model.named_parameters(), *model.named_buffers()) if is_position(n)]
    assert encodings
    for encoding in encodings:
        assert isinstance(encoding, (LearnedEncoding, SinusoidalEncoding))
        assert (encoding.rows, encoding.dim) in found


LOOKED_UP = [
    *("albert", "bart", "bert", "big_bird", "biogpt", "camembert", "convbert", "distilbert", "electra"),
    *(
        "fnet",
        "gpt2",
        "gpt_neo",
        "ibert",
        "imagegpt",
        "layoutlm",
        "led",
        "lilt",
        "markuplm",
        "mbart",
        "mobilebert",
        "mra",
    ),
    *("nystromformer", "openai-gpt", "opt", "rembert", "roberta", "splinter", "xlm", "xlm-roberta", "yoso"),
    *("flaubert", "clip_text_model", "siglip_text_model", "xlm-roberta-xl", "megatron-bert", "data2vec-text", "luke"),
]


@pytest.mark.parametrize("model_type", LOOKED_UP)
def test_the_row_of_the_first_token(model_type, monkeypatch):
    """On meta there are no numbers, but the positions' ids are made on the way, and those can be seen."""
    values, config = told(model_type, vocab_size=64)
    encoding = read_config(values).encodings[-1]
    for key in ("num_hidden_layers", "encoder_layers", "decoder_layers", "n_layer", "n_layers"):
        if isinstance(getattr(config, key, None), int):
            setattr(config, key, 1)
    torch.manual_seed(0)
    model = class_of(config)._from_config(config).eval()
    rows = set()
    hook = torch.nn.functional.embedding

    def spy(ids, weight, *args, **kwargs):
        if tuple(weight.shape) == (encoding.rows, encoding.dim):
            rows.add(int(ids.flatten()[0]))
        return hook(ids, weight, *args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "embedding", spy)
    ids = torch.arange(5, 15)[None]
    with torch.no_grad():
        model(input_ids=ids)
    assert encoding.offset in rows
    assert rows <= {encoding.offset, 5}  # the embeddings of tokens may have the same shape


@pytest.mark.parametrize("model_type", ["musicgen_decoder", "musicgen_melody_decoder"])
def test_musicgen(model_type):
    values, config = told(model_type, hidden_size=16, num_attention_heads=2, num_hidden_layers=1)
    (encoding,) = read_config(values).encodings
    module = modeling(config)
    name = next(n for n in vars(module) if n.endswith("SinusoidalPositionalEmbedding"))
    theirs = getattr(module, name)(40, 16).weights.double().numpy()
    ours = sinusoidal(range(40), 16, endpoint=True, layout=encoding.layout, order=encoding.order)
    # exp in float32 errs by u (1 + ln b) in the frequency, the angle by that times the position
    bound = 4 * 2.0**-24 * (4 + math.log(1e4)) * (1 + np.arange(40)[:, None])
    assert encoding.endpoint
    assert np.all(np.abs(theirs - ours) <= bound)
    assert np.abs(theirs - sinusoidal(range(40), 16, endpoint=True, layout="concatenated")).max() > 1
