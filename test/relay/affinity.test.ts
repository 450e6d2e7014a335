import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '../../src/catalog/catalog.ts'
import { parseChat } from '../../src/protocols/openai/client/chat/call.ts'
import type { ChatRequest } from '../../src/kinds/chat/request.ts'
import { conversationAffinity, orderEndpoints, sessionAffinity } from '../../src/pay/plan/endpoint-order.ts'
import { failure } from '../../src/protocols/ports/attempt-failure.ts'
import { KeyPools } from '../../src/pay/relay/key-pools.ts'
import { endpoint, model } from '../harness/plan-fixture.ts'
import { movingClock } from '../harness/moving-clock.ts'

// clients.md D-14.7: turns of a conversation find the cache that the turn before has filled.

const KEYS = ['k1', 'k2', 'k3', 'k4']
const PROVIDER: Endpoint['provider'] = { ...endpoint('p').provider, apiKeys: KEYS }
const CONVERSATIONS = 200
const TURNS = 10

/** The conversation as its `turn`-th request repeats it. */
function request(conversation: number, turn: number): ChatRequest {
  const turns = Array.from({ length: turn }, (_, index) => [
    { role: 'assistant', content: `answer ${index}` },
    { role: 'user', content: `and ${index}?` },
  ]).flat()
  const system = { role: 'system', content: 'You are an agent. '.repeat(400) }
  const messages = [system, { role: 'user', content: `task ${conversation}` }, ...turns]
  return parseChat({ model: 'v/m', messages })
}

/** Turns come every four seconds; a busy key refuses once and then pauses for ten. */
function simulate(busyAtTurn: number | null, affine: boolean): { readonly warm: number; readonly share: number } {
  const clock = movingClock()
  const pools = new KeyPools(clock, () => undefined)
  const lastKeys = new Map<number, string>()
  const counts = new Map<string, number>()
  let found = 0
  for (let turn = 0; turn < TURNS; turn += 1) {
    if (turn === busyAtTurn) pools.failed(PROVIDER, 'k1', { ...failure('status', 429, 'busy'), redacted: true })
    for (let conversation = 0; conversation < CONVERSATIONS; conversation += 1) {
      const affinity = affine ? conversationAffinity('account', () => request(conversation, turn)) : null
      const key = pools.pick(PROVIDER, affinity) ?? ''
      if (lastKeys.get(conversation) === key) found += 1
      lastKeys.set(conversation, key)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    clock.advance(4_000)
  }
  return {
    warm: found / (CONVERSATIONS * (TURNS - 1)),
    share: Math.max(...counts.values()) / (CONVERSATIONS * TURNS),
  }
}

test('of 200 conversations over four keys at least 95 % of turns find their cache, 90 % while a key rests', () => {
  const well = simulate(null, true)
  assert.ok(well.warm >= 0.95, `${well.warm}`)
  assert.ok(well.share < 0.4, `no key has much more than its quarter: ${well.share}`)
  const resting = simulate(3, true)
  assert.ok(resting.warm >= 0.9 && resting.warm < 1, `${resting.warm}`)
})

test('endpoints share conversations by price, and only those of one that fails move', () => {
  const endpoints = ['a', 'b', 'c'].map((slug) => endpoint(slug))
  const home = (conversation: number, sick: string | null): string => {
    const [first] = orderEndpoints({
      model: model('v/m', { endpoints }),
      request: request(conversation, 0),
      sent: [],
      able: () => true,
      inputTokens: 0,
      maxTokens: null,
      adapters: new Map(),
      calls: 'chat',
      met: ({ sell }) => sell,
      expectedCost: (one) => one.sell.input,
      sort: null,
      health: {
        ejected: () => false,
        unhealthy: (id) => id === sick,
        throughput: () => null,
        latency: () => null,
      },
      random: () => assert.fail('a conversation is not drawn'),
      affinity: conversationAffinity('account', () => request(conversation, 0)),
    })
    return first?.id ?? ''
  }
  const before = Array.from({ length: CONVERSATIONS }, (_, conversation) => home(conversation, null))
  const sick = before[0] ?? ''
  for (const { id } of endpoints) {
    const share = before.filter((one) => one === id).length
    assert.ok(share > CONVERSATIONS / 5 && share < CONVERSATIONS / 2, `${id}: ${share}`)
  }
  const during = before.map((_, conversation) => home(conversation, sick))
  assert.ok(
    during.every((now, conversation) => (before[conversation] === sick ? now !== sick : now === before[conversation])),
  )
})

test('a conversation is told by account, model, instructions and first question, however long they are', () => {
  const base = { model: 'm', messages: request(1, 0).messages }
  const same = conversationAffinity('a', () => base)()
  assert.equal(conversationAffinity('a', () => ({ ...base, messages: request(1, 7).messages }))(), same)
  const others = [
    conversationAffinity('b', () => base),
    conversationAffinity('a', () => ({ ...base, model: 'n' })),
    conversationAffinity('a', () => ({ ...base, messages: request(2, 0).messages })),
    conversationAffinity('a', () => ({ ...base, messages: base.messages.slice(1) })),
    sessionAffinity('a', 'session'),
    sessionAffinity('b', 'session'),
  ].map((affinity) => affinity())
  assert.equal(new Set([same, ...others]).size, others.length + 1)
})
