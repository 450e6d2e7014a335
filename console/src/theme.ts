import type { MouseEvent } from 'react'
import {
  type ComboboxItem,
  createTheme,
  type CSSVariablesResolver,
  type MantineColorsTuple,
  type OptionsFilter,
} from '@mantine/core'
import { t } from 'i18next'
import { isFound } from '../../src/base/search-words.ts'

/** Sea green: shade 7 is dark enough for white text on it, shade 4 is light enough for dark pages. */
const sea = shades('#e8f8f5 #d2efe9 #a3dfd3 #70cebb #46bfa8 #27ab93 #14917c #0a7567 #075e54 #034840')
/** Greys with a slight blue tint. */
const dark = shades('#d6dbe1 #b8c0c9 #97a1ad #6b7684 #39424e #2b333d #222932 #191f27 #12171d #0c1015')

/** Other colours have no variables in the styles, and a component cannot use them. */
const USED_COLOURS = ['sea', 'dark', 'gray', 'red', 'yellow', 'green', 'teal'] as const
type UsedColour = (typeof USED_COLOURS)[number]

declare module '@mantine/core' {
  interface MantineThemeColorsOverride {
    colors: Record<UsedColour | `${UsedColour}.${number}` | 'dimmed' | `var(--${string})`, MantineColorsTuple>
  }
}

export function isUsedColour(name: string): boolean {
  return USED_COLOURS.some((used) => used === name)
}

const OF_WINDOWS = { lockScroll: false }

export const theme = createTheme({
  primaryColor: 'sea',
  primaryShade: { light: 7, dark: 7 },
  colors: { sea, dark },
  defaultRadius: 'md',
  fontFamily:
    'Inter, "Segoe UI Variable Text", "Segoe UI", system-ui, -apple-system, Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "Liberation Mono", monospace',
  headings: { fontWeight: '650' },
  respectReducedMotion: true,
  cursorType: 'pointer',
  // Components are listed by name: `Table.extend` and the like would load each of them, and its parts, with the first
  // page.
  components: {
    // The scroll lock writes a style element, which the content security policy refuses; base.css has a lock instead.
    Modal: from(() => ({
      ...OF_WINDOWS,
      centered: true,
      overlayProps: { backgroundOpacity: 0.45, blur: 2 },
      ...close(),
    })),
    Drawer: from(() => ({ ...OF_WINDOWS, ...close() })),
    Notification: from(close),
    Card: from(() => ({ withBorder: true, padding: 'lg', bg: 'var(--surface)' })),
    Button: from(() => ({ fw: 550 })),
    // A second click on the chosen value must not clear it.
    Select: from(() => ({ allowDeselect: false, onClick: selectText, ...choices() })),
    MultiSelect: from(choices),
    TagsInput: from(choices),
    Autocomplete: from(choices),
    FileInput: from(clear),
    DateInput: from(clear),
    PasswordInput: from(() => ({ visibilityToggleButtonProps: { 'aria-label': t('entry.show_password') } })),
  },
})

/** What is typed into a field that can be searched replaces its value; at its end it would find nothing. */
function selectText({ currentTarget }: MouseEvent<HTMLInputElement>): void {
  if (!currentTarget.readOnly) currentTarget.select()
}

/** Props that a component has unless it is given others, in the language of the moment. */
function from(defaultProps: () => object) {
  return { defaultProps }
}

/** The library leaves these buttons without a name. */
function close() {
  return { closeButtonProps: { 'aria-label': t('common.close') } }
}

function clear() {
  return { clearButtonProps: { 'aria-label': t('common.clear') } }
}

/** Choices are found by the rule of all searches. */
function choices() {
  return { filter, ...clear() }
}

const filter: OptionsFilter = ({ options, search, limit }) => {
  let left = limit
  const taken = (items: readonly ComboboxItem[]): ComboboxItem[] =>
    items.filter(({ label }) => isFound(search, label) && (left -= 1) >= 0)
  return options.flatMap<(typeof options)[number]>((one) => {
    if (!('group' in one)) return taken([one])
    const items = taken(one.items)
    return items.length === 0 ? [] : [{ ...one, items }]
  })
}

function shades(colours: string): MantineColorsTuple {
  // From the lightest to the darkest; there are ten.
  return colours.split(' ') as unknown as MantineColorsTuple
}

/** Colours that have too little contrast in the default theme: dimmed text and placeholders must reach 4.5:1. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#ffffff',
    '--mantine-color-dimmed': '#545e69',
    '--mantine-color-placeholder': '#6a7480',
    '--mantine-color-default-border': '#dce1e6',
    '--mantine-color-text': '#16202a',
    '--mantine-color-anchor': '#0a6f62',
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-red-text': '#c92a2a',
    '--mantine-color-red-outline': '#c92a2a',
    '--page': '#ffffff',
    '--quiet': '#f6f8f9',
    '--surface': '#ffffff',
    '--line': '#e3e7eb',
    '--hover': '#f0f4f5',
    '--mantine-primary-color-light-color': '#075e54',
  },
  dark: {
    '--mantine-color-body': '#161b22',
    '--mantine-color-dimmed': '#a2adb9',
    '--mantine-color-placeholder': '#8b96a3',
    '--mantine-color-default-border': '#313a45',
    '--mantine-color-text': '#dfe4ea',
    '--mantine-color-anchor': '#5fd0bb',
    '--mantine-color-error': '#ff8787',
    '--page': '#11161c',
    '--quiet': '#171d25',
    '--surface': '#161b22',
    '--line': '#28303a',
    '--hover': '#1d242d',
    '--mantine-primary-color-light-color': '#7fdcc9',
  },
})
