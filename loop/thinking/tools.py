"""The tools a model may use in a turn, as the arguments each takes, and one object for a model that has no tools.

Which of them a situation allows, and with which bounds they are offered. What they do is in ``turn``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from loop.thinking.situation import Situation
from shared.contracts.values import Words
from shared.conversations.lifecycle import SNOOZE_MINUTES
from shared.energy.budget import Status
from shared.llm.chat import ToolCall
from shared.llm.tools import tool_name, tools_tokens
from shared.text.lines import shorten


def _nothing(value: object) -> object:
    """Take what models write for leaving something out as left out."""
    return None if isinstance(value, str) and value.strip().lower() in {"", "null", "none"} else value


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


_ID_IS = "Id of the conversation, as it is shown."
ConversationId = Annotated[Words, Field(max_length=200, description=_ID_IS)]
# Accepted of the one in focus, but not offered where there is only that one: small models put in whatever looks
# like an id. See ``offered_tools``.
Target = SkipJsonSchema[Annotated[ConversationId | None, BeforeValidator(_nothing)]]
_Text = Annotated[Words, BeforeValidator(_stripped), Field(min_length=1)]
_LONGEST_REASON = 400
_Reason = Annotated[Words, BeforeValidator(_stripped), Field(max_length=_LONGEST_REASON)]


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


def usable_tools(situation: Situation) -> tuple[type[Arguments], ...]:
    """Return the tools for which there is something to do in a situation; none in a review of what has ended."""
    if situation.focused is None:
        review = (SelectConversation, EndConversationCall, SnoozeConversationCall, Think, Respond)
        return review if situation.open_ids else ()
    # Whoever thinks about one conversation is shown no other that could be selected.
    tools = (Respond, EndConversationCall, SnoozeConversationCall, Think)
    return tools if situation.energy.status is Status.HIGH else (*tools, AwaitEnergy)


def offered_tools(situation: Situation, most_tokens: int) -> tuple[type[Arguments], ...]:
    """Return the usable tools as they are offered: in a review with the ids of the conversations they can be used in.

    The ids are listed where that takes at most ``most_tokens`` more; else any is taken, and checked when it is used.
    """
    tools = usable_tools(situation)
    if situation.focused is not None:
        return tools
    plain, listed = (_naming(tools, ids) for ids in (ConversationId, Literal[tuple(situation.open_ids)]))
    return listed if tools_tokens(listed) - tools_tokens(plain) <= most_tokens else plain


def _naming(tools: Sequence[type[Arguments]], conversation_id: Any) -> tuple[type[Arguments], ...]:
    """Return tools that have to be told the conversation they are used in, by an id of a type."""
    named: dict[str, Any] = {"conversation_id": (conversation_id, Field(description=_ID_IS))}
    return tuple(
        tool if tool is Think else create_model(tool.__name__, __base__=tool, __doc__=tool.__doc__, **named)
        for tool in tools
    )


class Choice(BaseModel):
    """One tool and what it takes, as a model without tools writes it; see ``choice_of``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    characters: ClassVar[int]
    """The longest text."""
    text: str

    @property
    def is_cut(self) -> bool:
        """Whether the text fills its bound, where a server that heeds it ends the text in the middle."""
        return len(self.text) >= self.characters

    @property
    def call(self) -> ToolCall:
        """The call it stands for; ``respond`` where nothing else could be chosen."""
        written = self.model_dump()
        name = written.pop("action", tool_name(Respond))
        taken = {field.alias for field in BY_NAME[name].model_fields.values()}
        words = shorten(self.text, self.characters - 1) if self.is_cut else self.text
        # Each tool has its own name for what is written; what a tool does not take was asked for by the shape alone.
        text = {"text": words, "thoughts": words, "reason": words[:_LONGEST_REASON]}
        return ToolCall("", name, {key: value for key, value in (written | text).items() if key in taken})


def choice_of(actions: Sequence[type[Arguments]], conversation_ids: Sequence[str], characters: int) -> type[Choice]:
    """Return the shape of a choice among ``actions``, in one of several conversations where any are named.

    Every field has bounds, so that a server which holds a model to the shape also ends its answer.
    """
    least, most = SNOOZE_MINUTES
    fields: dict[str, Any] = {}
    # What is left open is not asked for: a small model answers the worse for each field.
    if len(actions) > 1:
        fields["action"] = (Literal[tuple(map(tool_name, actions))], ...)
        fields["minutes"] = (int, Field(ge=least, le=most))
    if conversation_ids:
        fields["conversationId"] = (Literal[tuple(conversation_ids)], ...)
    fields["text"] = (str, Field(max_length=characters))
    shape = create_model("Choice", __base__=Choice, **fields)
    shape.characters = characters
    return shape


class UnusableArguments(ValueError):
    """Why the arguments of a call cannot be used, said to the model."""


def read_arguments(tool: type[Arguments], call: ToolCall) -> Arguments:
    """Return the checked arguments of a call. Raises: UnusableArguments."""
    try:
        return tool.model_validate(call.arguments)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        complaints = "; ".join(f"{'.'.join(map(str, p['loc'])) or 'arguments'}: {p['msg']}" for p in problems[:3])
        raise UnusableArguments(complaints) from None
