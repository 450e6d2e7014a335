import { registerHooks } from 'node:module'
import type { Mutant } from './mutant.ts'

/**
 * From now on the file is loaded with the mutant, only in this thread; the file on the disk does not change. Returns a
 * check for when the product is loaded: it throws if the mutant was not loaded.
 */
export function plant(mutant: Mutant): () => void {
  const { name, file } = mutant
  const suffix = `/${file}`
  const planted = { done: false }
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.endsWith(suffix) || loaded.source === undefined || loaded.source === null) return loaded
      const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
      const count = placesOf(mutant, source)
      if (count !== 1) throw new Error(`Mutant '${name}': its text stands ${count} times in ${file}.`)
      planted.done = true
      return { ...loaded, source: source.replace(inAnyLayout(mutant.find), () => mutant.replace) }
    },
  })
  return () => {
    if (!planted.done) throw new Error(`Mutant '${name}': the simulation does not load ${file}.`)
  }
}

/** How often the text of the mutant occurs in the source, in any layout. */
export function placesOf({ find }: Mutant, source: string): number {
  return [...source.matchAll(new RegExp(inAnyLayout(find), 'g'))].length
}

/** The formatter decides the layout: spaces, line breaks and the comma of a last element may differ. */
function inAnyLayout(find: string): RegExp {
  const tokens = find.match(/\/\/[^\n]*|\w+|[^\s\w]/g) ?? []
  const kept = tokens.filter((token, at) => token !== ',' || !isClosing(tokens[at + 1]))
  const parts = kept.map((token) => (isClosing(token) ? `,?\\s*${RegExp.escape(token)}` : RegExp.escape(token)))
  return new RegExp(parts.join('\\s*'))
}

function isClosing(token: string | undefined): boolean {
  return token === ')' || token === ']' || token === '}'
}
