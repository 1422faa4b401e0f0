"""The tools a model may use in a turn, as the arguments each takes. What they do is in ``turn``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from shared.contracts.values import Words
from shared.conversations.lifecycle import SNOOZE_MINUTES
from shared.llm.chat import ToolCall
from shared.llm.tools import tool_name


def _nothing(value: object) -> object:
    """Take what models write for leaving something out as left out."""
    return None if isinstance(value, str) and value.strip().lower() in {"", "null", "none"} else value


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


ConversationId = Annotated[Words, Field(max_length=200, description="Id of the conversation, as it is shown.")]
Target = Annotated[
    ConversationId | None,
    BeforeValidator(_nothing),
    Field(description="Id of the conversation; left out: the one in focus."),
]
_Text = Annotated[Words, BeforeValidator(_stripped), Field(min_length=1)]
_Reason = Annotated[Words, BeforeValidator(_stripped), Field(max_length=400)]


class Arguments(BaseModel):
    """What every tool takes."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, alias_generator=to_camel)


class Respond(Arguments):
    """Send an answer to the people in a conversation. This is the only way to say anything to them."""

    model_config = ConfigDict(title="respond")
    text: Annotated[_Text, Field(description="The answer, word for word as they will read it.")]
    conversation_id: Target = None


class EndConversationCall(Arguments):
    """End a conversation that is over. Nothing can be said in it afterwards, and it will be remembered."""

    model_config = ConfigDict(title="end_conversation")
    reason: Annotated[_Reason, Field(description="In a few words, why it is over.")] = ""
    conversation_id: Target = None


class SelectConversation(Arguments):
    """Look at one conversation closely next, for example to follow up on it."""

    model_config = ConfigDict(title="select_conversation")
    conversation_id: ConversationId


class SnoozeConversationCall(Arguments):
    """Hide a conversation for a while because nothing is to be done in it before."""

    model_config = ConfigDict(title="snooze_conversation")
    minutes: Annotated[int, Field(ge=SNOOZE_MINUTES[0], le=SNOOZE_MINUTES[1], description="For how many minutes.")]
    conversation_id: Target = None


class Think(Arguments):
    """Think in writing before you act. Nobody reads it, and it is not kept."""

    model_config = ConfigDict(title="think")
    thoughts: Annotated[str, Field(description="What you are thinking.")]


class AwaitEnergy(Arguments):
    """Come back to this conversation when there is more energy."""

    model_config = ConfigDict(title="await_energy")
    percentage: Annotated[float, Field(ge=1, le=100, allow_inf_nan=False, description="How much energy, in per cent.")]


TOOLS: tuple[type[Arguments], ...] = (
    Respond, EndConversationCall, SelectConversation, SnoozeConversationCall, Think, AwaitEnergy,
)  # fmt: skip
BY_NAME = {tool_name(tool): tool for tool in TOOLS}
UNKNOWN: Literal["unknown"] = "unknown"
"""What a tool that does not exist is called in the metrics."""


class UnusableArguments(ValueError):
    """Why the arguments of a call cannot be used, said to the model."""


def read_arguments(tool: type[Arguments], call: ToolCall) -> Arguments:
    """Return the checked arguments of a call. Raises: UnusableArguments."""
    try:
        return tool.model_validate(call.arguments)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        said = "; ".join(f"{'.'.join(map(str, p['loc'])) or 'arguments'}: {p['msg']}" for p in problems[:3])
        raise UnusableArguments(said) from None
