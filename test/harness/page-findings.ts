import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** Serious and critical findings of axe on the page as it stands, one text each. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, which the page's policy does not bind.
  if (!(await page.evaluate<boolean>("typeof axe !== 'undefined'"))) await page.evaluate(SOURCE)
  const violations = await page.evaluate<readonly Finding[]>(
    "axe.run(document, { resultTypes: ['violations'], preload: false }).then(({ violations }) => violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ target, failureSummary }) => ({ target, failureSummary })) })))",
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes
        .slice(0, 3)
        .map(
          ({ target, failureSummary }) =>
            `${id}: ${target.join(' ')}: ${failureSummary.replaceAll(/\s+/g, ' ').slice(0, 240)}`,
        ),
    )
}

/** What a user acts with, by its role for assistive technology. */
const CONTROLS: ReadonlySet<unknown> = new Set([
  'button',
  'checkbox',
  'combobox',
  'link',
  'menuitem',
  'option',
  'radio',
  'searchbox',
  'slider',
  'spinbutton',
  'switch',
  'tab',
  'textbox',
])

/** Controls without a name, as the browser itself tells assistive technology of them. */
export async function namelessControls(page: Page): Promise<readonly string[]> {
  const session = await page.context().newCDPSession(page)
  try {
    const { nodes } = await session.send('Accessibility.getFullAXTree')
    return nodes
      .filter(
        ({ ignored, role, name }) => !ignored && CONTROLS.has(role?.value) && `${name?.value ?? ''}`.trim() === '',
      )
      .map(({ role, properties }) => `a ${role?.value} without a name: ${JSON.stringify(properties?.slice(0, 3))}`)
  } finally {
    await session.detach()
  }
}
