import type { Page } from 'playwright-core'

/**
 * Two or more words of Latin letters in a row, in the console's own texts. Data is removed: code, the server's words
 * (which are set off as code), and the values of fields.
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
 * Addresses, names of people, products and models, the catalogue's descriptions of models, words of the file that are
 * the same in every language, and the texts that this test sets.
 */
const NAMES =
  /[\w.]+@[\w.]+|Switch to English|Ann Lee|Sandbox: \w+|first top-up|source: cbr|Answers deterministically without any provider\..*|HTTP-Referer|X-Title|Amazon Bedrock|LM Studio|Anthropic Messages|Google Gemini/g
const RUN = /[A-Za-z][A-Za-z'’]+(?:[,.:;]?\s[–—-]?\s?[A-Za-z][A-Za-z'’]+)+/g

/** Runs of English words on a page in Russian, each with the text around it. */
export async function englishTexts(page: Page): Promise<readonly string[]> {
  const shown = await page.evaluate<readonly string[]>(ENGLISH)
  return shown.flatMap((text) =>
    [...text.replaceAll(NAMES, '·').matchAll(RUN)].map(([run]) => `"${run}" of "${text.slice(0, 120)}"`),
  )
}
