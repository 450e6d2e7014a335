"""A conversation in Dify: the classes of its plugin kit that its plugin OpenAI-API-compatible extends. In the environment: URL, KEY, MODEL and WORK; TEXTS, a file."""
import gevent.monkey

gevent.monkey.patch_all(sys=True)

import json
import os

from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    PromptMessageTool,
    SystemPromptMessage,
    ToolPromptMessage,
    UserPromptMessage,
)
from dify_plugin.interfaces.model.openai_compatible.llm import OAICompatLargeLanguageModel

URL, KEY, MODEL, WORK = (os.environ[name] for name in ("URL", "KEY", "MODEL", "WORK"))
with open(os.environ["TEXTS"]) as file:
    TEXTS = json.load(file)
# The fields of its form, as the page says.
CREDENTIALS = {
    "api_key": KEY,
    "endpoint_url": f"{URL}/v1",
    "mode": "chat",
    "function_calling_type": "tool_call",
    "stream_function_calling": "supported",
    "context_size": "200000",
    # The scripted model answers with more than the five of the form's default.
    "validate_credentials_max_tokens": 64,
}
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}
TOOL = PromptMessageTool(name="write_file", description="Writes a file.", parameters=SCHEMA)


def write_file(path: str, content: str) -> str:
    with open(os.path.join(WORK, path), "w") as file:
        file.write(content)
    return "written"


llm = OAICompatLargeLanguageModel([])
messages = [SystemPromptMessage(content="Be brief.")]


def ask():
    """One answer as Dify asks for it; the text, the calls and the usage of its pieces."""
    text, calls, usage = "", [], None
    # The plugin adds `stream_options`.
    parameters = {"temperature": 0.7, "top_p": 1, "max_tokens": 512, "stream_options": {"include_usage": True}}
    for chunk in llm.invoke(MODEL, CREDENTIALS, list(messages), parameters, tools=[TOOL], stream=True, user="a-user"):
        text += chunk.delta.message.content or ""
        calls.extend(chunk.delta.message.tool_calls)
        usage = chunk.delta.usage or usage
    messages.append(AssistantPromptMessage(content=text, tool_calls=calls))
    return text, calls, usage


# What the form does when it is saved.
llm.validate_credentials(MODEL, CREDENTIALS)
for said in TEXTS:
    messages.append(UserPromptMessage(content=said))
    text, calls, usage = ask()
    while calls:
        for call in calls:
            result = write_file(**json.loads(call.function.arguments))
            messages.append(ToolPromptMessage(content=result, tool_call_id=call.id, name=call.function.name))
        text, calls, usage = ask()
    assert (usage.prompt_tokens, usage.completion_tokens) == (1000, 50), usage
    print(text)
