import { registerHooks } from 'node:module'
import type { Mutant } from './mutants.ts'

/** From now on the file is loaded with the mutant in it, in this thread alone; the copy on the disk stays as it is. */
export function plant({ name, file, find, replace }: Mutant): void {
  const suffix = `/src/${file}`
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.endsWith(suffix) || loaded.source === undefined || loaded.source === null) return loaded
      const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
      if (source.split(find).length !== 2)
        throw new Error(`Mutant '${name}': its text stands ${source.split(find).length - 1} times in ${file}.`)
      return { ...loaded, source: source.replace(find, () => replace) }
    },
  })
}
