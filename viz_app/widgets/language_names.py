"""English names for the languages of models."""

from model.checkpoints.languages import short_code

__all__ = ["language_label", "language_name"]

LANGUAGES = {
    **{"ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish"},
    **{"fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "it": "Italian"},
    **{"ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian"},
    **{"ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese"},
}


def language_name(code: str) -> str:
    """The name of a language, or its code where we have no name."""
    return LANGUAGES.get(code, code)


def language_label(code: str) -> str:
    """Name and code of a language as a model spells it, such as "German (deu_Latn)"."""
    name = LANGUAGES.get(short_code(code))
    return f"{name} ({code})" if name else code
