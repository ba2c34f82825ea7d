"""A section of a configuration: a flat frozen dataclass, built from a plain mapping and checked field by field.

The message of every error names the wrong values, so a page can show it unchanged.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Literal, Self, get_args, get_origin, get_type_hints

from model.messages import MessageError

__all__ = ["ConfigError", "Section", "require", "require_seed"]


class ConfigError(MessageError, ValueError):
    """A configuration cannot be used, or an analysis does not fit a model. The message names values and remedy."""


def require(condition: bool, template: str, /, **values: object) -> None:
    """Raise a ConfigError with this template and these values unless the condition holds."""
    if not condition:
        raise ConfigError(template, **values)


@dataclass(frozen=True, kw_only=True)
class Section:
    """The base of all configurations. Each field is checked against its type when an object is made."""

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Build from JSON or TOML values.

        Args:
            values: Setting → value.

        Raises:
            ConfigError: a name is unknown or missing, a value has the wrong type, or values contradict each other.
        """
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        require(
            not unknown,
            "{section} has no setting {unknown}. Its settings are: {known}.",
            section=cls.__name__,
            unknown=", ".join(unknown),
            known=", ".join(sorted(known)),
        )
        try:
            return cls(**values)
        except TypeError as error:
            raise ConfigError(
                "{section}: {problem}.", section=cls.__name__, problem=str(error).partition("__init__() ")[2] or error
            ) from error

    def to_dict(self) -> dict[str, object]:
        """All settings as values that JSON can hold."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @property
    def shown(self) -> dict[str, object]:
        """All settings as a message names them: a text in quotation marks."""
        return {name: repr(value) if isinstance(value, str) else value for name, value in self.to_dict().items()}

    def require_positive(self, *names: str) -> None:
        """Raise a ConfigError unless each of these settings is at least 1."""
        for name in names:
            value = getattr(self, name)
            require(value > 0, "{name} is {value}; it must be at least 1.", name=name, value=value)

    def __post_init__(self) -> None:
        """Check the type of every field, and turn lists into tuples."""
        for name, kind in get_type_hints(type(self)).items():
            value = getattr(self, name)
            found, origin = {"name": name, "value": repr(value)}, get_origin(kind)
            if origin is Literal:
                choices = ", ".join(map(repr, get_args(kind)))
                known = value in get_args(kind)
                require(known, "{name} is {value}; it must be one of {choices}.", choices=choices, **found)
            elif kind is float:
                number = isinstance(value, int | float) and not isinstance(value, bool)
                require(number, "{name} is {value}; it must be a number.", **found)
            elif kind in (int, str, bool):
                # Python's True is an int, too.
                require(
                    type(value) is kind, "{name} is {value}; it must be of type {kind}.", kind=kind.__name__, **found
                )
            elif origin is tuple:
                item = get_origin(get_args(kind)[0]) or get_args(kind)[0]
                fits = isinstance(value, list | tuple) and all(type(v) is item for v in value)
                require(fits, "{name} is {value}; it must be a list of type {kind}.", kind=item.__name__, **found)
                object.__setattr__(self, name, tuple(value))  # JSON and TOML have only lists


def require_seed(seed: int) -> None:
    """Raise a ConfigError unless the seed fits into 64 bits, as PyTorch needs."""
    fits = -(2**63) <= seed < 2**63
    require(fits, "seed is {seed}; it must fit into 64 bits. Choose a smaller number.", seed=seed)
