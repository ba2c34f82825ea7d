"""Messages of other libraries, shortened for a person."""

from model.messages import message_of

__all__ = ["first_line"]

MAX = 300  # characters


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 300 characters; the type of the error where it has no message.

    A `Message` of our own stays one, so that an interface can word it.
    """
    own = message_of(error)
    if own is not None and len(own) <= MAX:
        return own
    return (str(error).strip() or type(error).__name__).splitlines()[0][:MAX]
