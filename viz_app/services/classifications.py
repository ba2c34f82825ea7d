"""The class of a text, and its class without each word."""

import torch

from model.analysis.deletion import Deletion, delete_each_word
from model.checkpoints.checkpoint import CheckpointError, ClassifierCheckpoint
from model.inference.classify import Classification, classify, log_odds_of
from model.interventions import Intervention
from model.text.pair import Text
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import loaded
from viz_app.services.translations import UNTOUCHED

__all__ = ["classification_of", "classifier", "deletions_of", "log_odds_of_label"]

MAX_DELETED, MOST_WORK = 200, 1e11  # words; words × tokens × parameters: two seconds on one core


def classifier(key: CheckpointKey) -> ClassifierCheckpoint:
    """Raises CheckpointError where the checkpoint translates and does not classify."""
    checkpoint = loaded(key)
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError("{name} translates and does not classify.", name=key.name)
    return checkpoint


@remembered("Reading …")
def classification_of(key: CheckpointKey, text: Text, intervention: Intervention = UNTOUCHED) -> Classification:
    """Raises CheckpointError where the checkpoint translates and does not classify."""
    return classify(classifier(key), text, edits=intervention.edits())


def log_odds_of_label(key: CheckpointKey, text: Text, label: str, intervention: Intervention = UNTOUCHED) -> float:
    """The log-odds of a label in nats, with a visitor's changes."""
    model, found = classifier(key).model, classification_of(key, text, intervention)
    return float(log_odds_of(model, torch.tensor(found.logits))[model.config.labels.index(label)])


@remembered("Deleting every word …")
def deletions_of(key: CheckpointKey, text: Text) -> tuple[Deletion, ...]:
    """The class without each of the first words of a text; for as many words as take about two seconds."""
    checkpoint = classifier(key)
    # The embeddings are looked up, so they cost no time.
    used = sum(weight.numel() for name, weight in checkpoint.model.named_parameters() if "embedding" not in name)
    tokens = len(checkpoint.tokenizers.encode(text, checkpoint.model.config.max_length).ids)
    most = int(min(MAX_DELETED, MOST_WORK / (used * max(tokens, 1))))
    return tuple(delete_each_word(checkpoint, text, max_words=most))
