"""A conversation with a tool that really runs, through one library. In the environment: LIBRARY, URL, KEY, MODEL and WORK; TEXTS, a file of what the user asks."""
import json
import os

URL, KEY, MODEL, WORK = (os.environ[name] for name in ("URL", "KEY", "MODEL", "WORK"))
with open(os.environ["TEXTS"]) as file:
    TEXTS = json.load(file)
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}


def write_file(path: str, content: str) -> str:
    """Writes a file."""
    with open(os.path.join(WORK, path), "w") as file:
        file.write(content)
    return "written"


def litellm_turns(provider, base):
    import litellm

    litellm.telemetry = False
    tools = [{"type": "function", "function": {"name": "write_file", "parameters": SCHEMA}}]
    messages = []
    for text in TEXTS:
        messages.append({"role": "user", "content": text})
        while True:
            answer = litellm.completion(
                model=f"{provider}/{MODEL}", messages=messages, tools=tools, api_base=base, api_key=KEY, num_retries=0
            )
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                result = write_file(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        assert answer.usage.prompt_tokens == 1000 and answer.usage.completion_tokens == 50, answer.usage
        print(message.content)


def langchain_turns(chat):
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    bound = chat.bind_tools([tool(write_file)])
    messages = []
    for text in TEXTS:
        messages.append(HumanMessage(text))
        while True:
            answer = None
            for piece in bound.stream(messages):
                answer = piece if answer is None else answer + piece
            messages.append(answer)
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                messages.append(ToolMessage(write_file(**call["args"]), tool_call_id=call["id"]))
        assert answer.usage_metadata["input_tokens"] == 1000, answer.usage_metadata
        assert answer.usage_metadata["output_tokens"] == 50, answer.usage_metadata
        print(answer.text)


def langchain_openai():
    from langchain_openai import ChatOpenAI

    langchain_turns(ChatOpenAI(model=MODEL, base_url=f"{URL}/v1", api_key=KEY, max_retries=0, stream_usage=True))


def langchain_anthropic():
    from langchain_anthropic import ChatAnthropic

    langchain_turns(ChatAnthropic(model=MODEL, base_url=URL, api_key=KEY, max_retries=0, max_tokens=1000))


def anthropic_sdk():
    import anthropic

    client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    tools = [{"name": "write_file", "input_schema": SCHEMA}]
    messages = []
    for text in TEXTS:
        messages.append({"role": "user", "content": text})
        while True:
            with client.messages.stream(model=MODEL, max_tokens=1000, messages=messages, tools=tools) as stream:
                answer = stream.get_final_message()
            messages.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                break
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": write_file(**call.input)} for call in calls
            ]
            messages.append({"role": "user", "content": results})
        assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens) == (800, 200), answer.usage
        assert answer.usage.output_tokens == 50, answer.usage
        print("".join(block.text for block in answer.content if block.type == "text"))


def google_genai():
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL))
    declared = types.FunctionDeclaration(name="write_file", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    contents = []
    for text in TEXTS:
        contents.append(types.Content(role="user", parts=[types.Part(text=text)]))
        while True:
            answer = client.models.generate_content(model=MODEL, contents=contents, config=config)
            contents.append(answer.candidates[0].content)
            if not answer.function_calls:
                break
            parts = [
                types.Part.from_function_response(name=call.name, response={"result": write_file(**call.args)})
                for call in answer.function_calls
            ]
            contents.append(types.Content(role="user", parts=parts))
        usage = answer.usage_metadata
        assert (usage.prompt_token_count, usage.cached_content_token_count) == (1000, 200), usage
        assert usage.candidates_token_count == 50, usage
        print(answer.text)


def cohere_v2():
    import cohere

    client = cohere.ClientV2(api_key=KEY, base_url=URL)
    tools = [{"type": "function", "function": {"name": "write_file", "parameters": SCHEMA}}]
    messages = []
    for text in TEXTS:
        messages.append({"role": "user", "content": text})
        while True:
            answer = client.chat(model=MODEL, messages=messages, tools=tools)
            messages.append(answer.message.model_dump(exclude_none=True))
            if not answer.message.tool_calls:
                break
            for call in answer.message.tool_calls:
                result = write_file(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        assert answer.usage.tokens.output_tokens == 50, answer.usage
        print(answer.message.content[0].text)


def llamaindex_turns(llm):
    from llama_index.core.llms import ChatMessage
    from llama_index.core.tools import FunctionTool

    tool = FunctionTool.from_defaults(write_file)
    messages = []
    for text in TEXTS:
        messages.append(ChatMessage(role="user", content=text))
        while True:
            answer = llm.chat_with_tools([tool], chat_history=messages)
            messages.append(answer.message)
            calls = llm.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
            if not calls:
                break
            for call in calls:
                result = tool.call(**call.tool_kwargs).content
                messages.append(
                    ChatMessage(role="tool", content=result, additional_kwargs={"tool_call_id": call.tool_id})
                )
        assert (answer.raw.usage.prompt_tokens, answer.raw.usage.completion_tokens) == (1000, 50), answer.raw.usage
        print(answer.message.content)


def llamaindex_openai():
    from llama_index.llms.openai_like import OpenAILike

    llamaindex_turns(
        OpenAILike(
            model=MODEL,
            api_base=f"{URL}/v1",
            api_key=KEY,
            is_chat_model=True,
            is_function_calling_model=True,
            context_window=200000,
            max_retries=0,
        )
    )


def pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY))
    agent = Agent(model, tools=[write_file])
    messages = []
    for text in TEXTS:
        answer = agent.run_sync(text, message_history=messages)
        messages = answer.all_messages()
        usage = messages[-1].usage
        assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (1000, 200, 50), usage
        print(answer.output)


LIBRARIES = {
    "pydantic-ai": pydantic_ai,
    "llamaindex openai": llamaindex_openai,
    "litellm openai": lambda: litellm_turns("openai", f"{URL}/v1"),
    "litellm anthropic": lambda: litellm_turns("anthropic", URL),
    "langchain openai": langchain_openai,
    "langchain anthropic": langchain_anthropic,
    "anthropic": anthropic_sdk,
    "google-genai": google_genai,
    "cohere": cohere_v2,
}
LIBRARIES[os.environ["LIBRARY"]]()
