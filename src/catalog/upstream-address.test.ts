import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forbiddenUpstream } from './upstream-address.ts'

const FORBIDDEN = [
  'http://169.254.169.254/v1',
  'http://169.254.0.1',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://0251.0376.0251.0376/',
  'http://①⑥⑨.254.169.254/',
  'http://169.254.169.254./',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[::169.254.169.254]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[2002:a9fe:a9fe::]/',
  'http://[fe80::1]/',
  'http://[febf::1]/',
  'http://[fd00:ec2::254]/',
  'http://168.63.129.16/',
  'http://100.100.100.200/',
  'http://metadata.google.internal/',
  'http://METADATA/',
  'not a url',
]
const ALLOWED = [
  'https://api.openai.com/v1',
  'http://127.0.0.1:8080/v1',
  'http://localhost:11434',
  'http://10.0.0.5/v1',
  'http://[::1]:9000',
  'http://[fd12::1]/',
  'http://168.63.129.17/',
  'http://169.253.255.255/',
  'http://[2002:a00:1::]/',
  'http://metadata.example.com/',
]

for (const url of FORBIDDEN)
  test(`${url} may be no provider's address`, () => assert.equal(forbiddenUpstream(url), true))
for (const url of ALLOWED)
  test(`${url} may stand in the operator's file`, () => assert.equal(forbiddenUpstream(url), false))
