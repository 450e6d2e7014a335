import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basicKey, providerAuth, type AuthEntry } from '../../catalog/auth.ts'
import { PLAIN_DIALECT } from '../../catalog/dialect.ts'
import { redactor } from './redaction.ts'

const KEY = 'm1st/Ra+L9x=canary.Zq81/Wxyz'
const OURS = {
  apiKeys: [KEY, 'AKIDOFOURS0001:half/of+a=pair:eu-west-1', 'provider-key-0001-abcdefgh'],
  baseUrl: 'https://ours.upstream.example/v1/0f3aa1b2c3d4/gateway',
  dialect: {
    ...PLAIN_DIALECT,
    query: `?${new URLSearchParams({ key: 'quiet value/of a query', v: 'short' })}`,
    headers: { 'x-gate': 'Basic header/quiet+gate=' },
  },
}
const redact = redactor(OURS, true)

function asJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function asUnicode(text: string): string {
  return [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}

test('an own secret is removed however it is escaped, and no part of it is left', () => {
  const ways: readonly ((text: string) => string)[] = [
    (text) => text,
    encodeURIComponent,
    (text) => text.replaceAll(/[/+=]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`),
    (text) => encodeURIComponent(encodeURIComponent(text)),
    (text) => encodeURIComponent(encodeURIComponent(encodeURIComponent(text))),
    (text) => text.replaceAll('/', '\\/'),
    (text) => asJson(text.replaceAll('/', '\\/')),
    (text) => text.replaceAll(/[/+=]/g, asUnicode),
    asUnicode,
    (text) => asJson(asUnicode(text)),
    (text) => asUnicode(encodeURIComponent(text)),
    (text) => text.replaceAll('/', '&#x2F;').replaceAll('=', '&#61;'),
    (text) => asUnicode(text).replaceAll('\\u', '%u'),
    (text) => asUnicode(text).replaceAll('\\u00', '\\x'),
    (text) => asUnicode(text).replaceAll(/u00(..)/g, 'u{$1}'),
    (text) => text.toUpperCase(),
    (text) => encodeURIComponent(text).toLowerCase(),
    (text) => text.slice(0, 8),
    (text) => text.slice(0, 11),
    (text) => text.slice(-8),
    (text) => text.slice(-13),
    (text) => encodeURIComponent(text.slice(0, 9)),
    (text) => asUnicode(text.slice(-9)),
  ]
  for (const secret of [KEY, 'half/of+a=pair', 'quiet value/of a query', 'header/quiet+gate='])
    for (const [index, way] of ways.entries())
      assert.equal(
        redact(`Not for <${way(secret)}>, try another`),
        'Not for <[redacted]>, try another',
        `${index} ${secret}`,
      )
  for (const own of ['ours.upstream.example', '0f3aa1b2c3d4', 'eu-west-1', 'AKIDOFOURS0001'])
    assert.equal(redact(`at ${own}.`), 'at [redacted].')
  // In our own words, text that only looks like a secret stays.
  assert.equal(redactor(OURS, false)(`org-abcdef123456 and ${KEY}`), 'org-abcdef123456 and [redacted]')
})

test('the credentials of an auth are removed, also as a service that gives tokens may quote them', () => {
  const secret = 'S3cret/of-the+client'
  const sent = basicKey('gateway', secret)
  const auth = (entry: Omit<AuthEntry, 'type'>): ReturnType<typeof redactor> =>
    redactor(
      { apiKeys: [], baseUrl: OURS.baseUrl, auth: providerAuth({ type: 'oauth', ...entry }, OURS.baseUrl, true) },
      true,
    )
  const pair = auth({
    client: 'gateway',
    secret,
    headers: { 'x-partner': 'Partner quiet.value-of-it' },
    params: { assertion: 'quiet assertion of ours' },
  })
  const ready = auth({ key: sent })
  for (const [redacted, words] of [
    [pair, sent],
    [pair, secret],
    [pair, encodeURIComponent(secret)],
    [pair, 'quiet.value-of-it'],
    [pair, 'quiet assertion of ours'],
    [ready, sent],
    [ready, secret],
  ] as const)
    assert.equal(redacted(`Client <${words}> is unknown`), 'Client <[redacted]> is unknown', words)
})

test('what identifies an account is removed, whoever wrote it', () => {
  for (const secret of [
    'm1st****Wxyz',
    'm1stxxxxxxxxWxyz',
    'm1st/R<hidden>Wxyz',
    'm1st____Wxyz',
    'M1ST····WXYZ',
    'm1st********',
    '****Wxyz',
    'abcd...wxyz',
    'abcd…wxyz',
    'q9•••••Wx',
    '…Wxyz',
    'm1st...',
    'sk-ab…yz',
    'org-abcdefghijklmnop',
    'proj_abcdefghijkl',
    'wrkspc_01JwQBaLH3GdZM4nSS5ZWbhq',
    '7f9c1f4e-ca4a-4e2b-9c1f-012345678901',
    '12345678-1234-1234-1234-123456789012',
    '123456789012',
    '1234-5678-9012',
    'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/x',
    'arn:aws-cn:iam::123456789012:role/x',
    'my-resource.openai.azure.com',
    'my-resource.cognitiveservices.azure.com',
    'eastus2-x.services.ai.azure.com',
    'bucket-1.s3.eu-west-1.amazonaws.com',
    'deployments/my-gpt-4o',
    'subscriptions/0f3aa1b2/x',
    'projects/canary-project/locations',
    'project number 123456789',
    'project_number:4711081500',
    'projectNumber: 4711081500',
    'project 4711081500',
    'project:canary-1',
    'user-Ab3dEfGhIjKl',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.c2lnbmF0dXJl',
  ]) {
    assert.match(redact(`It failed for ${secret} at once`), /^It failed for \[redacted\](?:\/\w+)* at once$/, secret)
  }
})

test('ordinary words, names of models and numbers stay', () => {
  for (const text of [
    'max_tokens must be <= 8192, got 16384',
    'temperature: must be between 0 and 2, or in 10...20',
    'The provider returned an error; this key is not enough',
    "Invalid type for 'messages[0].content[1].image_url': expected one of 'auto', 'low', ...",
    'Please wait... and try again in 20.5s...',
    'Unsupported value: user_location, key_features, tool_choice and response_format.json_schema',
    'The model meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8 is overloaded',
    'No such model: gpt-4o-mini-search-preview-2025-03-11 or gemini-2.5-flash-preview-native-audio-dialog',
    'anthropic.claude-3-5-sonnet-20241022-v2:0 takes at most 200000 tokens',
    'accounts/fireworks/models/deepseek-v3p1-terminus is not deployed',
    'Range of input length should be [1, 30720]; 100% of 1,048,576 are used (a/b, C:\\new, 50%2)',
    'max_completion_tokens_details and prompt_tokens_details_of_the_request_2 are unknown',
    'Ошибка: слишком длинный запрос… Повторите позже',
    'error 1234567890 at 2026-11-26T22:00:00.000Z, version 2024-10-21, us-central1, **bold** text',
  ])
    assert.equal(redact(text), text)
})
