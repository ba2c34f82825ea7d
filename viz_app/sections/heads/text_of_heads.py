"""The text that the page Heads shows: a sentence, or a review for a classifier."""

from model.inference.opening import AnyConfig
from model.inference.run import Run
from model.text.pair import Text, texts_of
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.translation import t
from viz_app.sections.sentiment.review_field import ask_for_review
from viz_app.services import loading
from viz_app.services.listing import CheckpointKey
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets.run_controls import require_run
from viz_app.widgets.text_field import require_text

__all__ = ["require_receiver", "require_run_or_review"]


def require_run_or_review(key: CheckpointKey) -> Run:
    """The run whose heads are changed.

    Raises:
        PageEnded: the field is empty.
    """
    config = loading.config_of(key)
    opening = demonstration_for(config).heads
    if config.task == "classification":
        return Run(text=require_review(config, opening))
    return require_run(key, opening=opening)


def require_receiver(config: AnyConfig) -> Text:
    """The text whose run gets a head of another run.

    Raises:
        PageEnded: the field is empty.
    """
    opening = demonstration_for(config).receiver
    return require_review(config, opening) if config.task == "classification" else require_text(config, opening=opening)


def require_review(config: AnyConfig, opening: str) -> Text:
    text = ask_for_review(config, height=80, opening=opening)
    review, _ = texts_of(text)
    if not review.strip():
        end_page(t("Type a review above."))
    add_fact(t("Review"), review)
    return text
