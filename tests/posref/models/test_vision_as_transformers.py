"""Vision towers: what is read of them, against transformers' classes, on a grid that is not square."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from model_peer import U, config_of, modeling, torch, transformers

from posref import rope_apply
from posref.models import LearnedEncoding, RopeEncoding, patches, read_config, vision
from posref.rotary.axes import rope_axes_cos_sin
from posref.rotary.grids import grid_coordinates, grid_positions

pytestmark = pytest.mark.peers

HEIGHT, WIDTH = 3, 5


def by_table(module, rotary, q, positions):
    """Tokens first: what Qwen's towers and all that follow them do."""
    tokens = q[0].transpose(0, 1)
    return module.apply_rotary_pos_emb_vision(tokens, tokens, *rotary(tokens, positions))[0].transpose(0, 1)[None]


def by_heads(module, rotary, q, positions):
    return module.apply_rotary_pos_emb(q, q, *rotary(q, positions), unsqueeze_dim=0)[0]


def by_complex_numbers(module, rotary, q, positions):
    tokens = q.transpose(1, 2)
    return module.vision_apply_rotary_emb(tokens, tokens, rotary(q))[0].transpose(1, 2)


def by_axis(module, rotary, q, positions):
    ids = positions[None]
    return module.apply_multidimensional_rope(q.transpose(1, 2), *rotary(q, ids), ids).transpose(1, 2)


def by_image(module, rotary, q, positions):
    image = torch.zeros(1, 3, HEIGHT * rotary.config.patch_size, WIDTH * rotary.config.patch_size)
    return module.apply_rotary_pos_emb(q, q, *rotary(image))[0]


HOW = {
    "pixtral": by_heads,
    "llama4_vision_model": by_complex_numbers,
    "gemma4_vision": by_axis,
    "dinov3_vit": by_image,
}
ROWS_FIRST_IN_THE_CLASS = {"kimi_k25_vision"}  # it swaps them itself
OWN_CODE = ("cogvlm_vision", "dots_vit", "moonvit")  # transformers has no class for them
ROTATING = [
    name
    for name, reader in vision.FAMILIES.items()
    if name not in OWN_CODE
    if any(isinstance(e, RopeEncoding) for e in read_config({"model_type": name}).encodings)
]


def coordinates(model_type, names):
    """A row per axis."""
    if model_type == "dinov3_vit":
        rows = 2 * np.pi * grid_coordinates((HEIGHT, WIDTH))
    elif model_type == "llama4_vision_model":
        rows = np.concatenate([grid_positions((4, 4), start=1), np.zeros((2, 1), int)], axis=1)
    else:
        rows = grid_positions((2, HEIGHT, WIDTH))[3 - max(2, len(names)) :]
    axes = dict(zip(("time", "height", "width")[-len(rows) :], rows, strict=True))
    return np.stack([axes[name] for name in names])


@pytest.mark.parametrize("model_type", ROTATING)
def test_towers_that_rotate(model_type):
    values = {"model_type": model_type, **({"image_size": 64, "patch_size": 16} if "llama4" in model_type else {})}
    encodings = [e for e in read_config(values).encodings if isinstance(e, RopeEncoding)]
    config = config_of(values)
    module = modeling(config)
    names = [
        n for n in vars(module) if n.endswith(("VisionRotaryEmbedding", "RopePositionEmbedding", "MLCDRotaryEmbedding"))
    ]
    rotary = getattr(module, min(names, key=len))(config).eval()
    names = [name for e in encodings for name in e.axes.names]
    positions = coordinates(model_type, names)
    q = torch.randn(1, 2, positions.shape[1], encodings[0].head_dim, generator=torch.Generator().manual_seed(0))
    given = positions[::-1] if model_type in ROWS_FIRST_IN_THE_CLASS else positions
    with torch.no_grad():
        theirs = HOW.get(model_type, by_table)(module, rotary, q, torch.as_tensor(given.T.copy()))
    theirs, plain = theirs.double().numpy(), q.double().numpy()
    assert excess(encodings, plain, theirs, positions) <= 1
    assert excess(encodings, plain, theirs, positions[::-1]) > 100  # axes that change places
    assert len(encodings[0].layers) == config.num_hidden_layers


def excess(encodings, q, theirs, positions):
    """The worst error as a multiple of float32's: of a frequency, its angle, the table and the products."""
    wanted, phase, first = q, 0.0, 0
    for encoding in encodings:
        rows = positions[first : first + len(encoding.axes.names)]
        first += len(encoding.axes.names)
        w, axes = np.asarray(encoding.inv_freq), np.asarray(encoding.axes.map)
        cos, sin = rope_axes_cos_sin(rows, w, axes)
        wanted = rope_apply(wanted, cos, sin, layout=encoding.layout, offset=encoding.offset)
        angle = np.abs(rows[axes].T * w)
        phase = np.maximum(phase, U * ((5 + 3 * np.abs(np.log(w))) * angle).max())
    return np.abs(theirs - wanted).max() / (2 * np.abs(q).max() * (phase + 8 * U))


SIZES = {
    "siglip_vision_model": {"image_size": 224, "patch_size": 14, "hidden_size": 32},
    "clip_vision_model": {"image_size": 224, "patch_size": 32, "hidden_size": 32},
    "git_vision_model": {"image_size": 64, "patch_size": 16, "hidden_size": 32},
    "vit": {"image_size": [64, 96], "patch_size": [16, 32], "hidden_size": 32},
    "siglip2_vision_model": {"num_patches": 64, "hidden_size": 32},
    "qwen3_vl_vision": {"num_position_embeddings": 36, "hidden_size": 64, "num_heads": 2},
    "kimi_k25_vision": {"pos_emb_height": 6, "pos_emb_width": 6, "hidden_size": 64, "num_attention_heads": 2},
}
ELSEWHERE = (
    *OWN_CODE,
    "git_vision_model",
    "owlv2_vision_model",
    "intern_vit_6b",
)  # no defaults of their own, or those of another class


def learned(values):
    return [e for e in read_config(values).encodings if isinstance(e, LearnedEncoding)]


ALL = {**patches.FAMILIES, **vision.FAMILIES}
TABLES = [name for name in ALL if name not in ELSEWHERE and learned({"model_type": name})]


@pytest.mark.parametrize("model_type", TABLES)
def test_the_defaults_of_every_table(model_type):
    """A class's own sizes, where a file has none: the shape of its parameter, without the numbers in it."""
    tables = learned({"model_type": model_type})
    config = config_of({"model_type": model_type})
    with torch.device("meta"):
        model = table_class(config)._from_config(config)
    shapes = {tuple(p.shape) for n, p in model.named_parameters() if "pos" in n.lower()}
    for table in tables:
        shape, grid = (table.rows, table.dim), (*table.grid, table.dim)
        assert shapes & {shape, (1, *shape), grid}
        assert table.rows == table.grid[0] * table.grid[1] + table.offset


def table_class(config):
    if type(config) in transformers.AutoModel._model_mapping:
        return transformers.AutoModel._model_mapping[type(config)]
    classes = [value for value in vars(modeling(config)).values() if inspect.isclass(value)]
    classes = [
        c
        for c in classes
        if issubclass(c, transformers.PreTrainedModel) and c.__name__.endswith(("Model", "former", "Encoder"))
    ]
    return next(
        c for c in classes if isinstance(config, getattr(c, "config_class", None) or ()) and "PreT" not in c.__name__
    )


SMALL = {"num_hidden_layers": 1, "depth": 1, "intermediate_size": 8, "num_attention_heads": 2}


@pytest.mark.parametrize("model_type", SIZES)
def test_learned_tables(model_type):
    values = {"model_type": model_type, **SMALL, **SIZES[model_type]}
    (encoding,) = (e for e in read_config(values).encodings if isinstance(e, LearnedEncoding))
    config = config_of(values)
    torch.manual_seed(0)
    model = (
        transformers.AutoModel.from_config(config)
        if type(config) in transformers.AutoModel._model_mapping
        else vision_class(config)._from_config(config)
    )
    shapes = {tuple(p.shape) for n, p in model.named_parameters() if "pos" in n.lower()}
    shape = (encoding.rows, encoding.dim)
    grid = (*encoding.grid, encoding.dim)
    assert shapes & {shape, (1, *shape), grid}
    assert encoding.rows == encoding.grid[0] * encoding.grid[1] + encoding.offset


def vision_class(config):
    module = modeling(config)
    names = [n for n in vars(module) if n.endswith(("VisionModel", "VisionTransformer"))]
    return getattr(module, min(names, key=len))
