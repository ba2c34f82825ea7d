"""What passed the hook points while a model read or wrote one text: recorded once, for all analyses of the stream.

A recording is kept in the memory that is bounded in bytes, if it fits there. A larger one is made again when it is
needed.
"""

from model.analysis.contributions import contribution_names
from model.analysis.influence import influence_names
from model.analysis.stations import station_names
from model.analysis.streams import stacks_of
from model.inference.classify import Classification, record_classification
from model.inference.one_pass import record_again
from model.inference.translation import RecordedArrays, Translation
from model.text.pair import Text
from viz_app.server.server_state import remembered
from viz_app.services.classifications import classifier
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import loaded, translator
from viz_app.services.translations import Run, translation_of, without_maps

__all__ = ["recorded_classification", "recorded_classifier_layer", "recorded_layer", "recorded_translation"]


def names(key: CheckpointKey) -> tuple[str, ...]:
    """The hook points that the analyses of the stream read.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    stacks = stacks_of(loaded(key).model)
    return tuple({name: None for stack in stacks for name in (*contribution_names(stack), *influence_names(stack))})


@remembered("Following the text through the layers …")
def recorded_translation(key: CheckpointKey, text: Text, run: Run) -> tuple[Translation, RecordedArrays]:
    """The displayed translation of a text without its maps, and what its run recorded.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    translation = translation_of(key, text, *run)
    return without_maps(translation), record_again(translator(key).model, translation, names(key)).arrays()


@remembered()
def recorded_layer(key: CheckpointKey, text: Text, run: Run, stack: str, layer: int) -> RecordedArrays:
    """What passed all hook points of one layer in the run of the displayed translation.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    model = translator(key).model
    record = station_names(model.stack(stack), layer)
    return record_again(model, translation_of(key, text, *run), record).arrays()


@remembered()
def recorded_classifier_layer(key: CheckpointKey, text: Text, layer: int) -> RecordedArrays:
    """What passed all hook points of one layer while a classifier read a text.

    Raises:
        ConfigError: the blocks of the model are not known.
        CheckpointError: the checkpoint does not classify.
    """
    checkpoint = classifier(key)
    record = station_names(checkpoint.model.stack("encoder"), layer)
    return record_classification(checkpoint, text, record=record)[1].arrays()


@remembered("Following the text through the layers …")
def recorded_classification(key: CheckpointKey, text: Text) -> tuple[Classification, RecordedArrays]:
    """The class of a text, and what its run recorded.

    Raises:
        ConfigError: the blocks of the model are not known.
        CheckpointError: the checkpoint does not classify.
    """
    classification, recording = record_classification(classifier(key), text, record=names(key))
    return classification, recording.arrays()
