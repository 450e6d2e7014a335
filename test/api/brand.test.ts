import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway, type Answer } from '../harness/gateway.ts'
import { refusedInWords as refused } from '../harness/refused.ts'

const tollgate = await gateway()

test('the brand and an announcement are shown to strangers, and no text of them can be a script', async () => {
  const patch = (body: unknown): Promise<Answer> => tollgate.admin('PATCH', '/admin/v1/settings', body)
  const service = async (): Promise<Answer['body']> =>
    (await tollgate.request('GET', '/cabinet/v1/session')).body.service
  const bare = { name: 'Tollgate', logo: '', accent: '', support: '', offer: '', privacy: '' }
  assert.deepEqual([(await service()).brand, (await service()).announcement], [bare, { text: '', link: '' }])
  const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`
  const brand = { name: 'Acme AI', logo, support: 'mailto:help@acme.example', offer: 'https://acme.example/offer' }
  assert.deepEqual((await patch({ brand })).body.brand, { ...brand, accent: '', privacy: '' })
  await patch({ announcement: { text: 'New prices on Monday' } })
  assert.deepEqual(
    [(await service()).brand.name, (await service()).announcement.text],
    ['Acme AI', 'New prices on Monday'],
  )
  for (const [field, text] of [
    ['support', 'javascript:alert(1)'],
    ['offer', 'acme.example'],
    ['privacy', `https://${'x'.repeat(300)}`],
    ['logo', 'https://acme.example/logo.png'],
    ['logo', 'data:text/html;base64,PGI+'],
    ['name', 'x'.repeat(41)],
    ['colour', 'red'],
    ['accent', 'red'],
    ['accent', '#ffff00'],
    ['accent', '#0000ff;}*{display:none'],
  ] as const)
    refused(await patch({ brand: { [field]: text } }), 400, 'invalid_input', new RegExp(`brand.*${field}`))
  await patch({ brand: {}, announcement: {} })
  assert.deepEqual((await service()).brand, bare)
})
