"""Messages of other libraries, shortened for a person."""

__all__ = ["first_line"]


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 300 characters; the type of the error where it has no message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
