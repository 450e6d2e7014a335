import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { flatTools } from './flat-tools.ts'
import { parseResponses } from './parse.ts'
import { TextArgument } from './call-item.ts'
import { ToolNames } from '../request.ts'

const inNamespace = (name: string, ...tools: readonly string[]): Record<string, unknown> => ({
  type: 'namespace',
  name,
  description: 'd',
  tools: tools.map((each) => ({ type: 'function', name: each, parameters: { type: 'object' } })),
})

function namesOf(tools: readonly unknown[], more: Record<string, unknown> = {}): readonly (string | undefined)[] {
  return (parseResponses({ input: 'x', tools, ...more }).chat.tools ?? []).map((tool) => tool.function.name)
}

test('tools of a namespace are functions with names of their own; the same namespace may come twice', () => {
  assert.deepEqual(namesOf([inNamespace('mcp__docs', 'find'), inNamespace('mcp__docs', 'find', 'read')]), [
    'mcp__docs__find',
    'mcp__docs__read',
  ])
  assert.deepEqual(namesOf([inNamespace('mcp__docs__', 'find')]), ['mcp__docs__find'])
})

test('names that would clash are kept apart, and none is longer than providers take', () => {
  const long = 'a_very_long_name_of_a_server_that_somebody_has_configured_one_day'
  const names = namesOf([
    { type: 'function', name: 'n__f', parameters: {} },
    inNamespace('n', 'f', 'f.g', 'f_g'),
    inNamespace(long, 'search_one', 'search_two'),
    { type: 'custom', name: 'n__f__x' },
    inNamespace('n__f', 'x'),
  ])
  assert.equal(names[0], 'n__f')
  assert.equal(new Set(names).size, 8)
  for (const name of names) assert.match(String(name), /^[A-Za-z0-9_-]{1,64}$/)
})

test('property: every tool is found again by the name that its model knows', () => {
  const word = fc.string({ minLength: 1, maxLength: 70 })
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(word, word), { maxLength: 30 }), fc.uniqueArray(word), (tools, plain) => {
      const names = new ToolNames(plain)
      const origins = tools.map(([namespace, name]) => ({ type: 'function' as const, name, namespace }))
      for (const origin of origins) {
        const flat = names.name(origin)
        assert.deepEqual(names.origin(flat), origin)
        assert.match(flat, /^[A-Za-z0-9_-]{1,64}$/)
      }
      for (const name of plain) assert.equal(names.origin(name)?.namespace, null)
    }),
  )
})

test('custom tools, a search for tools and the shell are functions; a grammar is told in words', () => {
  const { chat, dropped } = parseResponses({
    input: 'x',
    tools: [
      {
        type: 'custom',
        name: 'apply_patch',
        description: 'Edits.',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: x' },
      },
      { type: 'tool_search', execution: 'client', description: 'Finds.', parameters: { type: 'object' } },
      { type: 'local_shell' },
      { type: 'function', name: 'get_goal' },
      { type: 'web_search' },
    ],
    tool_choice: { type: 'custom', name: 'apply_patch' },
  })
  const [patch, search, shell, goal] = chat.tools ?? []
  assert.equal(chat.tools?.length, 4)
  assert.deepEqual(patch?.function.parameters?.['required'], ['input'])
  assert.equal(patch?.function.description, 'Edits.\n\nThe input must follow this lark grammar:\nstart: x')
  assert.deepEqual(search?.function, { name: 'tool_search', description: 'Finds.', parameters: { type: 'object' } })
  assert.equal(shell?.function.name, 'local_shell')
  assert.deepEqual(goal?.function, { name: 'get_goal' })
  assert.deepEqual(dropped, ['tools.web_search'])
  assert.deepEqual(chat.toolChoice, { type: 'function', function: { name: 'apply_patch' } })
})

test('items of later turns are calls and answers of functions', () => {
  const { chat, dropped } = parseResponses({
    input: [
      { role: 'user', content: 'go' },
      { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: 'line\n"two"' },
      {
        type: 'custom_tool_call_output',
        call_id: 'a',
        output: [
          { type: 'input_text', text: 'ok' },
          { type: 'input_image', image_url: 'https://x/y.png' },
        ],
      },
      { type: 'tool_search_call', call_id: 'b', execution: 'client', status: 'completed', arguments: { query: 'q' } },
      {
        type: 'tool_search_output',
        call_id: 'b',
        execution: 'client',
        status: 'completed',
        tools: [inNamespace('mcp__docs', 'find')],
      },
      { type: 'function_call', call_id: 'c', namespace: 'mcp__docs', name: 'find', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: 'https://x/z.png' }] },
      {
        type: 'local_shell_call',
        call_id: 'd',
        status: 'completed',
        action: { type: 'exec', command: ['ls'], env: null },
      },
      { type: 'local_shell_call_output', call_id: 'd', output: 'file' },
      { type: 'web_search_call', status: 'completed' },
      { type: 'ghost_snapshot', ghost_commit: {} },
    ],
  })
  const called = (id: string, name: string, text: string): unknown => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: text } }],
  })
  const image = (url: string): unknown => ({ type: 'image_url', image_url: { url } })
  assert.deepEqual(chat.messages, [
    { role: 'user', content: 'go' },
    called('a', 'apply_patch', '{"input":"line\\n\\"two\\""}'),
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'ok' }, image('https://x/y.png')] },
    called('b', 'tool_search', '{"query":"q"}'),
    { role: 'tool', tool_call_id: 'b', content: 'These tools can be called now:\nmcp__docs: d' },
    called('c', 'mcp__docs__find', '{}'),
    { role: 'tool', tool_call_id: 'c', content: [image('https://x/z.png')] },
    called('d', 'local_shell', '{"command":["ls"]}'),
    { role: 'tool', tool_call_id: 'd', content: 'file' },
  ])
  assert.deepEqual(
    chat.tools?.map((tool) => tool.function.name),
    ['mcp__docs__find'],
  )
  assert.deepEqual(dropped, ['input.web_search_call'])
})

test('only allowed tools are offered', () => {
  const tools = [inNamespace('n', 'f', 'g'), { type: 'custom', name: 'c' }]
  const allowed = [
    { type: 'function', name: 'g', namespace: 'n' },
    { type: 'custom', name: 'c' },
  ]
  const { chat } = parseResponses({
    input: 'x',
    tools,
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: allowed },
  })
  assert.deepEqual([chat.tools?.map((tool) => tool.function.name), chat.toolChoice], [['n__g', 'c'], 'required'])
})

/** The text that the pieces of the arguments produce. */
function textOf(pieces: readonly string[]): string {
  const argument = new TextArgument()
  return [...pieces.map((piece) => argument.add(piece)), argument.end()].join('')
}

test('property: the text of a custom tool is the same at every cut', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(60)), fc.boolean(), (text, cuts, spaced) => {
      const json = JSON.stringify({ input: text }, null, spaced ? 2 : 0)
      const escaped = spaced
        ? json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        : json
      const places = [0, ...cuts.map((cut) => Math.min(cut, escaped.length)), escaped.length].toSorted((a, b) => a - b)
      assert.equal(textOf(places.slice(1).map((end, index) => escaped.slice(places[index], end))), text)
    }),
  )
})

test('arguments that do not keep to the schema still mean something', () => {
  assert.equal(textOf(['*** Begin Patch']), '*** Begin Patch')
  assert.equal(textOf(['{"patch": ', '"text"}']), 'text')
  assert.equal(textOf(['"', 'text"']), 'text')
  assert.equal(textOf(['{"a": 1, "input": "text", "b": "c"}']), 'text')
  assert.equal(textOf(['{"input": "cut of']), 'cut of')
  assert.equal(textOf(['{"a":', ' 1}']), '{"a": 1}')
  assert.equal(textOf([]), '')
})

test('a tool that chat cannot say may be offered, but not demanded; fields that cost money or name accounts stay here', () => {
  const tools = [{ type: 'apply_patch' }, { type: 'function', name: 'f' }]
  const { demanded, dropped } = parseResponses({ input: 'x', tools, tool_choice: { type: 'apply_patch' } })
  assert.deepEqual([demanded, dropped], [{ path: 'tool_choice.type', type: 'apply_patch' }, ['tools.apply_patch']])
  for (const choice of [{ type: 'function', name: 'f' }, { type: 'tool_search' }, { type: 'local_shell' }, 'required'])
    assert.equal(parseResponses({ input: 'x', tools, tool_choice: choice }).demanded, null)
  const { input } = parseResponses({
    input: 'x',
    service_tier: 'priority',
    plugins: [{ id: 'web' }],
    search_parameters: { mode: 'on' },
    webhook_url: 'https://x',
    usage: { include: true },
    truncation: 'auto',
    of_next_year: { a: 1 },
  })
  assert.deepEqual(input.passed, { truncation: 'auto', of_next_year: { a: 1 } })
})

test('what only a provider of the protocol reads of functions is their JSON beyond that of the functions of chat', () => {
  const tool = fc.record(
    {
      type: fc.constantFrom('function', 'function', 'function', 'namespace'),
      name: fc.constantFrom('a', 'b', 'read_file'),
      description: fc.constantFrom('', 'Reads', 7),
      parameters: fc.constantFrom(null, {}, { type: 'object', properties: { path: { type: 'string' } } }),
      strict: fc.constantFrom(true, null),
      defer_loading: fc.constant(true),
      output_schema: fc.constant({ type: 'object', description: 'What only its own providers read.' }),
      tools: fc.constant([{ type: 'function', name: 'inner', parameters: {} }]),
    },
    { requiredKeys: ['type', 'name'] },
  )
  const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
  const tools = fc.array(tool, { maxLength: 4 })
  fc.assert(
    fc.property(tools, tools, (given, found) => {
      const output = {
        type: 'tool_search_output',
        call_id: 'c',
        execution: 'client',
        status: 'completed',
        tools: found,
      }
      const chat = { step: 'output', callId: 'c', output: '' } as const
      const { functions, unreadBytes } = flatTools(given, [{ type: 'native', value: output, chat }], null)
      const declared = [...given.filter(({ type }) => type === 'function'), ...found]
      assert.equal(unreadBytes, Math.max(0, bytes(declared) - bytes(functions ?? [])))
    }),
  )
})
