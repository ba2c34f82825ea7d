"""One file per lesson: its places, questions and checks. The texts are in `viz_app/content/lessons/`."""
