import type { JsonMember } from '../../base/json-scan.ts'
import { isObject } from '../fields/body-fields.ts'
import type { ChatMessage, ChatPart, ChatRequest } from './request.ts'
import { ownValue } from '../../base/own-value.ts'

/** A shorter one is written again as quickly. */
const BYTES_MIN = 8_192

/**
 * The request with the bytes of its messages, for a provider that takes them unchanged: writing 100 kB of text again
 * costs as much as everything else done with it. `json` is the body, `member` its `messages`. Only where the request
 * keeps every key in the bytes with its value, so that nothing unread passes.
 */
export function withRawMessages(request: ChatRequest, json: unknown, member: JsonMember | null): ChatRequest {
  if (member === null || member.bytes.length < BYTES_MIN || !isObject(json)) return request
  return keysKept(json['messages'], request.messages) === member.keys
    ? { ...request, rawMessages: { of: request.messages, bytes: member.bytes } }
    : request
}

/** The bytes of the messages, if they still equal the request's messages. */
export function rawMessagesOf({ messages, rawMessages }: ChatRequest): Buffer | null {
  return rawMessages !== undefined && rawMessages.of === messages ? rawMessages.bytes : null
}

/** The number of keys in the messages; NaN if one of them is not passed on unchanged. */
function keysKept(messages: unknown, read: readonly ChatMessage[]): number {
  return Array.isArray(messages)
    ? messages.reduce((sum: number, message, index) => sum + keysOfMessage(message, read[index]?.content), 0)
    : Number.NaN
}

function keysOfMessage(message: unknown, content: ChatMessage['content'] | undefined): number {
  // Without content, null would be sent.
  if (!isObject(message) || !Object.hasOwn(message, 'content')) return Number.NaN
  let keys = 0
  for (const [name, value] of Object.entries(message))
    keys += 1 + keysOfField(name, value, { role: message['role'], content })
  return keys
}

interface Kept {
  readonly role: unknown
  /** As it was read. */
  readonly content: ChatMessage['content'] | undefined
}

function keysOfField(name: string, value: unknown, { role, content }: Kept): number {
  switch (name) {
    case 'content':
      return value === null
        ? 0
        : Array.isArray(value)
          ? sumOf(value, (part, index) => keysOfPart(part, content?.[index]))
          : keysOfText(value)
    case 'tool_calls':
      return role === 'assistant' && Array.isArray(value) && value.length > 0 ? sumOf(value, keysOfCall) : Number.NaN
    case 'role':
      // Many providers get `system` instead.
      return role === 'developer' ? Number.NaN : 0
    case 'tool_call_id':
      return role === 'tool' ? 0 : Number.NaN
    case 'name':
      return keysOfText(value)
    default:
      return Number.NaN
  }
}

/** A picture whose address is written otherwise, or that is none, is not passed on unchanged. */
function keysOfPart(part: unknown, read: ChatPart | string | undefined): number {
  if (!isObject(part)) return Number.NaN
  const { type } = part
  if (type === 'text') return keysIn(part, { type: keysOfText, text: keysOfText })
  if (type === 'image_url' && typeof read === 'object' && read.type === type)
    return keysIn(part, {
      type: keysOfText,
      image_url: (image) =>
        keysIn(image, { url: (url) => (url === read.image_url.url ? 0 : Number.NaN), detail: keysOfText }),
    })
  return Number.NaN
}

function keysOfCall(call: unknown): number {
  const keys = keysIn(call, {
    id: keysOfText,
    type: keysOfText,
    function: (called) => exactly(keysIn(called, { name: keysOfText, arguments: keysOfText }), 2),
  })
  return exactly(keys, 5)
}

type KeysOf = (value: unknown) => number

/** The number of keys in a value that may have only these. */
function keysIn(value: unknown, allowed: Readonly<Record<string, KeysOf>>): number {
  if (!isObject(value)) return Number.NaN
  let keys = 0
  for (const [name, member] of Object.entries(value)) {
    const keysOf = ownValue(allowed, name)
    if (keysOf === undefined) return Number.NaN
    keys += 1 + keysOf(member)
  }
  return keys
}

/** A string has no keys; other values are not passed on unchanged. */
function keysOfText(value: unknown): number {
  return typeof value === 'string' ? 0 : Number.NaN
}

function exactly(keys: number, wanted: number): number {
  return keys === wanted ? keys : Number.NaN
}

function sumOf(values: readonly unknown[], keysOf: (value: unknown, index: number) => number): number {
  return values.reduce((sum: number, value, index) => sum + keysOf(value, index), 0)
}
