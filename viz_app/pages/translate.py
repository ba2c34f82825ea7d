"""Translate: a sentence, its translation, and every attention map that the model computed for it."""

from viz_app.content.translation import t
from viz_app.sections.translate.maps import (
    choose_map,
    display_options,
    largest_weights,
    map_notes,
    map_pictures,
    word_lines,
)
from viz_app.sections.translate.written_text import translation_notes, written_text
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.run_form import require_run

key, config = checkpoint_choice.require_model("translation", "continuation", "reading", attends=False)
run = require_run(key)
written_text(key, run)
translation_notes(key, run)
if not config.model.kinds:
    end_page(
        t(
            "This model has no attention. It is a recurrent network: it reads the sentence into one vector, and writes "
            "everything from this vector. Try a long sentence. Then choose the same network with attention on the left."
        )
    )
choice = choose_map(key, run)
word_lines(choice)
map_pictures(choice)
display_options(key, run)
map_notes(choice)
largest_weights(choice)
