import type { Page } from 'playwright-core'

/**
 * Two or more words of Latin letters in a row, in texts that are the console's own. What is data is taken out: code and
 * the server's words, which are set off as code, and what stands in fields.
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
 * Names of people, products and models, what the catalogue says of a model, and words of the file, which are the same
 * in every language, and those that this test gives.
 */
const NAMES =
  /Switch to English|Ann Lee|Sandbox: \w+|first top-up|source: cbr|Answers deterministically without any provider\..*|HTTP-Referer|X-Title/g
const RUN = /[A-Za-z][A-Za-z'’]+(?:[,.:;]?\s[–—-]?\s?[A-Za-z][A-Za-z'’]+)+/g

/** Runs of English words on a page that is in Russian, each with the text around it. */
export async function englishTexts(page: Page): Promise<readonly string[]> {
  const shown = await page.evaluate<readonly string[]>(ENGLISH)
  return shown.flatMap((text) =>
    [...text.replaceAll(NAMES, '·').matchAll(RUN)].map(([run]) => `"${run}" of "${text.slice(0, 120)}"`),
  )
}
