import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

/**
 * Finds two or more Latin words in a row in the console's own texts. Data is removed first: code, the server's words
 * (which are marked as code), and the values of fields.
 */
const ENGLISH = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const found = []
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement
    if (parent === null || parent.closest('code, pre, [lang=en], script, style, noscript, textarea, svg, [aria-hidden=true]') !== null) continue
    found.push(node.data)
  }
  for (const part of document.querySelectorAll('[aria-label], [placeholder], [title]')) {
    if (part.closest('code, [lang=en], [aria-hidden=true]') === null) found.push(...['aria-label', 'placeholder', 'title'].map((name) => part.getAttribute(name) ?? ''))
  }
  return found
})()`
/**
 * Addresses, names of people, products and models, the catalogue's descriptions of models, words of the text files that
 * are the same in every language, and the texts that this test sets.
 */
const NAMES =
  /[\w.]+@[\w.]+|Switch to English|Ann Lee|Sandbox: \w+|first top-up|source: cbr|Answers deterministically without any provider\..*|HTTP-Referer|X-Title|Amazon Bedrock|LM Studio|Anthropic Messages|Google Gemini/g
const RUN = /[A-Za-z][A-Za-z'’]+(?:[,.:;]?\s[–—-]?\s?[A-Za-z][A-Za-z'’]+)+/g

/** Runs of English words on a Russian page, each with the text around it. */
export async function englishTexts(page: Page): Promise<readonly string[]> {
  const shown = await page.evaluate<readonly string[]>(ENGLISH)
  return shown.flatMap((text) =>
    [...text.replaceAll(NAMES, '·').matchAll(RUN)].map(([run]) => `"${run}" of "${text.slice(0, 120)}"`),
  )
}

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** Serious and critical findings of axe on the page in its current state, one text each. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, to which the page's policy does not apply.
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

/** Interactive elements, by their role for assistive technology. */
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

/** Interactive elements without a name, according to the browser's accessibility tree. */
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

/** What is wrong with a page as it is: serious findings of axe, and runs of English words if it is Russian. */
export async function findings(page: Page, language: 'en' | 'ru'): Promise<readonly string[]> {
  return [...(await seriousFindings(page)), ...(language === 'ru' ? await englishTexts(page) : [])]
}
