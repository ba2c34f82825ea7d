"""The recurrent encoder-decoder for which attention was invented (Bahdanau et al. 2015), with and without attention.

A bidirectional GRU reads the source, and a GRU writes the target. With attention, the decoder attends to all states of
the encoder before each token. Without attention, one vector is all that it knows of the source (Cho et al. 2014). The
methods `encode`, `decode` and `project` and the names of the hook points are the same as in the Transformer.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from model.config.model import RecurrentConfig
from model.network.attention import attention_weights, mask_scores
from model.network.dropout import Dropout
from model.network.initial_weights import initialize_embeddings
from model.network.masks import padding_mask
from model.network.own_model import Translator, token_embeddings
from model.network.protocols import Cache
from model.network.scores import attention_scores
from model.trace import HookPoint, name_hook_points

__all__ = ["RecurrentCache", "RecurrentTranslator"]


class RecurrentCache:
    """What decoding keeps between steps: the state of the GRU, and the keys of the source."""

    shares_memory = False

    def __init__(self) -> None:
        self.length = 0
        self.state: Tensor | None = None  # (B, C)
        self.keys: Tensor | None = None  # (B, 1, S, C)

    def select(self, rows: Tensor, *, sources: Tensor | None = None) -> None:
        """Keep and reorder the hypotheses of a beam search, see `Cache.select`."""
        if self.state is not None:
            self.state = self.state.index_select(0, rows)
        if self.keys is not None and sources is not None:
            self.keys = self.keys.index_select(0, sources)


class AdditiveAttention(nn.Module):
    """One head: e = vᵀ tanh(W s + U h), then the weighted mean of the h (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.query_projection = nn.Linear(config.d_hidden, config.d_hidden, bias=False)
        self.key_projection = nn.Linear(2 * config.d_hidden, config.d_hidden)
        self.score_vector = nn.Parameter(torch.randn(1, config.d_hidden) * config.d_hidden**-0.5)
        self.queries = HookPoint()  # (B, 1, 1, C)
        self.keys = HookPoint()  # (B, 1, S, C)
        self.scores = HookPoint()  # (B, 1, 1, S)
        self.masked_scores = HookPoint()  # (B, 1, 1, S)
        self.weights = HookPoint()  # (B, 1, 1, S)
        self.head_outputs = HookPoint()  # (B, 1, 1, 2C)

    def keys_of(self, memory: Tensor) -> Tensor:
        return self.keys(self.key_projection(memory)[:, None])  # (B, 1, S, C)

    def forward(self, state: Tensor, keys: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Attend from the decoder's state to the source.

        Args:
            state: (B, C).
            keys: From `keys_of`, (B, 1, S, C).
            memory: (B, S, 2C).
            mask: (B, 1, 1, S), True = may attend; None without padding.

        Returns:
            The context, (B, 2C).
        """
        queries = self.queries(self.query_projection(state)[:, None, None])  # (B, 1, 1, C)
        scores = self.scores(attention_scores(queries, keys, vector=self.score_vector))  # (B, 1, 1, S)
        weights = self.weights(attention_weights(self.masked_scores(mask_scores(scores, mask))))
        return self.head_outputs(weights.to(memory.dtype) @ memory[:, None])[:, 0, 0]  # (B, 2C)


class RecurrentEncoder(nn.Module):
    """Reads the source in both directions."""

    def __init__(self, config: RecurrentConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.tokens = tokens
        self.scale = math.sqrt(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.gru = nn.GRU(config.d_model, config.d_hidden, batch_first=True, bidirectional=True)
        self.states = HookPoint()  # (B, S, 2C)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        vectors = self.dropout(self.tokens(ids) * self.scale)  # (B, S, D)
        # Without packing, the backward GRU would begin with the padding.
        packed = pack_padded_sequence(vectors, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=ids.size(1))
        return self.states(self.dropout(states))


class RecurrentLayer(nn.Module):
    """One step of the decoder."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.cross_attention = AdditiveAttention(config) if config.attention == "additive" else None
        self.cell = nn.GRUCell(config.d_model + 2 * config.d_hidden, config.d_hidden)
        self.output = nn.Linear(config.d_model + 3 * config.d_hidden, config.d_model)

    def forward(self, vector: Tensor, state: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """From the vector of the newest token (B, D), compute the output (B, D) and the next state (B, C)."""
        state = self.cell(torch.cat([vector, context], dim=-1), state)
        return torch.tanh(self.output(torch.cat([state, context, vector], dim=-1))), state


class RecurrentDecoder(nn.Module):
    """Writes the target, one token after the other, in training too."""

    def __init__(self, config: RecurrentConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.tokens = tokens
        self.scale = math.sqrt(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.first_state = nn.Linear(config.d_hidden, config.d_hidden)
        self.layers = nn.ModuleList([RecurrentLayer(config)])

    def forward(self, ids: Tensor, memory: Tensor, mask: Tensor | None, cache: RecurrentCache) -> Tensor:
        layer = self.layers[0]
        assert isinstance(layer, RecurrentLayer)
        attention, vectors = layer.cross_attention, self.dropout(self.tokens(ids) * self.scale)  # (B, T, D)
        if cache.state is None:
            cache.state = torch.tanh(self.first_state(first_backward_state(memory)))  # (B, C)
            cache.keys = attention.keys_of(memory) if attention else None
        state, written = cache.state, []
        summary = None if attention else last_states(memory, mask)
        for t in range(ids.size(1)):
            if attention is not None and cache.keys is not None:
                context = attention(state, cache.keys, memory, mask)
            else:
                assert summary is not None
                context = summary
            output, state = layer(vectors[:, t], state, context)
            written.append(output)
        cache.state, cache.length = state, cache.length + ids.size(1)
        return self.dropout(torch.stack(written, dim=1))  # (B, T, D)


def first_backward_state(memory: Tensor) -> Tensor:
    """The state of the backward GRU after the whole source, (B, C)."""
    return memory[:, 0, memory.size(-1) // 2 :]


def last_states(memory: Tensor, mask: Tensor | None) -> Tensor:
    """The states of both GRUs after the whole source, (B, 2C): the source in one vector."""
    if mask is None:
        last = memory[:, -1]
    else:
        places = mask[:, 0, 0].sum(dim=-1) - 1  # (B,)
        last = memory[torch.arange(len(memory), device=memory.device), places]
    return torch.cat([last[:, : memory.size(-1) // 2], first_backward_state(memory)], dim=-1)


class RecurrentTranslator(Translator):
    """Encoder, decoder and the projection to the vocabulary, with the methods of the `Transformer`."""

    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig, *, pad_id: int = 0) -> None:
        super().__init__()
        self.config = config
        self.pad_id = self.target_pad_id = pad_id
        source, target = token_embeddings(config, pad_id, pad_id)
        self.encoder = RecurrentEncoder(config, source)
        self.decoder = RecurrentDecoder(config, target)
        self.output_projection = nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        self.logits = HookPoint()  # (B, T, V)
        initialize_embeddings(self, d_model=config.d_model)
        if config.tie_embeddings != "none":
            self.output_projection.weight = target.weight
        name_hook_points(self)

    def start_cache(self) -> RecurrentCache:
        return RecurrentCache()

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # The memory has the states of both directions, (B, S, 2C).
        mask = padding_mask(source, self.pad_id)
        return self.encoder(source, mask[:, 0, 0].sum(dim=-1).clamp_min(1)), mask

    def target_states(
        self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: Cache | None = None
    ) -> Tensor:
        assert cache is None or isinstance(cache, RecurrentCache)
        return self.decoder(target, memory, cross_mask, cache or RecurrentCache())

    def project(self, states: Tensor) -> Tensor:
        return self.logits(self.output_projection(states))
