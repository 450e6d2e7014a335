"""The official Python client while the provider is silent: BASE_URL, API_KEY, MODEL and SILENCE in the environment."""
import os
import urllib.request

import openai
from openai.types.chat import ChatCompletionChunk

NAMED = {"X-Request-Id": "from-a-proxy"}
MODEL = os.environ["MODEL"]
client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0)
HELLO = [{"role": "user", "content": "Hello"}]
passed = 0


def hears(name, stream, text_of):
    """All text of a stream, whose provider is silent for 25 seconds after the first."""
    global passed
    text = ""
    for event in stream:
        is_first = text == ""
        text += text_of(event) or ""
        if is_first and text != "":
            urllib.request.urlopen(os.environ["SILENCE"]).read()
    assert text == "before after", f"{name}: {text}"
    passed += 1


def leaves(stream, text_of):
    """Reads up to the first text and closes the connection; answers the events."""
    events = []
    for event in stream:
        events.append(event)
        if text_of(event):
            break
    stream.close()
    return events


def chat_text(chunk):
    return chunk.choices[0].delta.content if chunk.choices else None


def response_text(event):
    return event.delta if event.type == "response.output_text.delta" else None


chat = {"model": MODEL, "messages": HELLO, "stream": True}
hears("chat", client.chat.completions.create(**chat), chat_text)
hears("named chat", client.chat.completions.create(**chat, extra_headers=NAMED), chat_text)
hears(
    "completions",
    client.completions.create(model=MODEL, prompt="Hello", stream=True, extra_headers=NAMED),
    lambda chunk: chunk.choices[0].text if chunk.choices else None,
)
response = {"model": MODEL, "input": "Hello", "stream": True}
hears("responses", client.responses.create(**response, extra_headers=NAMED), response_text)
background = {**response, "background": True, "store": True}
hears("in the background", client.responses.create(**background), response_text)

leaves(client.chat.completions.create(**chat, extra_headers={"X-Request-Id": "left"}), chat_text)
hears(
    "resumed chat",
    client.get(
        "/streams",
        cast_to=ChatCompletionChunk,
        options={"params": {"id": "left"}},
        stream=True,
        stream_cls=openai.Stream[ChatCompletionChunk],
    ),
    chat_text,
)
created = leaves(client.responses.create(**background), response_text)[0]
hears("resumed response", client.responses.retrieve(created.response.id, stream=True), response_text)

print(f"all {passed} checks passed")
