import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accentCss, isAccent } from './accent.ts'

/** WCAG's formula, written a second time. */
function contrast(one: string, other: string): number {
  const light = (hex: string): number => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    }) as [number, number, number]
    return red * 0.2126 + green * 0.7152 + blue * 0.0722
  }
  const both = [light(one) + 0.05, light(other) + 0.05]
  return Math.max(...both) / Math.min(...both)
}

test('every accent that is taken gives texts and buttons the contrast of WCAG AA, in both themes', () => {
  const parts = ['00', '33', '66', '99', 'cc', 'ff']
  let taken = 0
  for (const red of parts)
    for (const green of parts)
      for (const blue of parts) {
        const hex = `#${red}${green}${blue}`
        assert.equal(isAccent(hex), contrast(hex, '#ffffff') >= 3, hex)
        if (!isAccent(hex)) continue
        taken += 1
        const [light, dark] = accentCss(hex)
          .trim()
          .split('\n')
          .map(
            (rule) =>
              new Map(
                [...rule.matchAll(/--mantine-([\w-]+):(#[0-9a-f]{6})/g)].map((found) => [found[1], found[2] ?? '']),
              ),
          )
        const of = (rule: typeof light, name: string): string => rule?.get(name) ?? assert.fail(`${hex}: no ${name}`)
        for (const [what, one, other, least] of [
          ['button', of(light, 'color-sea-7'), '#ffffff', 4.5],
          ['button, dark', of(dark, 'color-sea-7'), '#ffffff', 4.5],
          ['pressed', of(dark, 'color-sea-8'), '#ffffff', 4.5],
          ['button on the page, dark', of(dark, 'color-sea-7'), '#161b22', 3],
          ['link', of(light, 'color-anchor'), '#f0f4f5', 4.5],
          ['link, dark', of(dark, 'color-anchor'), '#1d242d', 4.5],
          ['quiet', of(light, 'color-sea-light-color'), of(light, 'color-sea-light'), 4.5],
          ['quiet, dark', of(dark, 'color-sea-light-color'), of(dark, 'color-sea-light'), 4.5],
          ['text on quiet', '#16202a', of(light, 'color-sea-light'), 4.5],
          ['text on quiet, dark', '#dfe4ea', of(dark, 'color-sea-light'), 4.5],
        ] as const)
          assert.ok(contrast(one, other) >= least, `${hex} ${what}: ${one} on ${other}, ${contrast(one, other)}`)
      }
  assert.ok(taken > 100, `${taken}`)
  assert.equal(accentCss(''), '')
})
