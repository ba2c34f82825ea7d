"""What a model, a tokenizer, a run and a recipe are made of: frozen dataclasses that check themselves."""
