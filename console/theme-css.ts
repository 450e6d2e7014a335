import { convertCssVariables, defaultCssVariablesResolver, mergeMantineTheme, DEFAULT_THEME } from '@mantine/core'
import type { Plugin } from 'vite'
import { cssVariables, isUsedColour, theme } from './src/theme.ts'

const NAME = 'virtual:theme.css'

/**
 * The theme's variables as a file of the build: the content security policy allows no style element that a script
 * writes.
 */
export function themeCss(): Plugin {
  return {
    name: 'theme-css',
    resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
    load: (id) => (id === `\0${NAME}` ? variables() : null),
  }
}

function variables(): string {
  const merged = mergeMantineTheme(DEFAULT_THEME, theme)
  const base = defaultCssVariablesResolver(merged)
  const own = cssVariables(merged)
  return convertCssVariables({
    variables: { ...used(base.variables), ...own.variables },
    light: { ...used(base.light), ...own.light },
    dark: { ...used(base.dark), ...own.dark },
  })
}

/** Without the library's colours that the console has no name for: they would be a tenth of the styles. */
function used(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => {
      const colour = /^--mantine-color-([a-z]+)-/.exec(name)?.[1] ?? ''
      return !(colour in DEFAULT_THEME.colors) || isUsedColour(colour)
    }),
  )
}
