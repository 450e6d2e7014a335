/**
 * The colours of a service from one: what the console's own green is in every place is derived from the accent, so that
 * each text on it or in it has the contrast of WCAG AA. It is lightened and darkened, its hue stays.
 */

type Rgb = readonly [red: number, green: number, blue: number]

const BLACK: Rgb = [0, 0, 0]
const WHITE: Rgb = [255, 255, 255]
/** The darkest background of a light page, and the lightest of a dark one, that a link is read on. */
const LIGHT_PAGE = rgbOf('#f0f4f5')
const DARK_PAGE = rgbOf('#1d242d')
/** WCAG 1.4.3: text; 1.4.11: what a control is seen by. */
const TEXT = 4.5
const SHAPE = 3
const STEP = 0.01

/** Whether buttons of the colour, or of one not much darker, can have white text. */
export function isAccent(hex: string): boolean {
  return contrast(rgbOf(hex), WHITE) >= SHAPE
}

/** The style sheet that gives the console the accent; empty = its own colours. */
export function accentCss(hex: string): string {
  if (hex === '') return ''
  const given = rgbOf(hex)
  const filled = until(given, BLACK, (colour) => contrast(colour, WHITE) >= TEXT)
  // On a dark page a button must be seen too: there is a colour for it, since white text needs less than that leaves.
  const onDark = until(filled, WHITE, (colour) => contrast(colour, DARK_PAGE) >= SHAPE)
  const tint = mixed(given, WHITE, 0.85)
  const shade = mixed(given, DARK_PAGE, 0.8)
  const link = until(given, BLACK, (colour) => contrast(colour, LIGHT_PAGE) >= TEXT)
  const linkOnDark = until(given, WHITE, (colour) => contrast(colour, DARK_PAGE) >= TEXT)
  const onTint = until(link, BLACK, (colour) => contrast(colour, tint) >= TEXT)
  const onShade = until(linkOnDark, WHITE, (colour) => contrast(colour, shade) >= TEXT)
  const light = {
    ...scale(filled),
    anchor: link,
    'sea-light': tint,
    'sea-light-hover': mixed(given, WHITE, 0.75),
    'sea-light-color': onTint,
    'sea-outline': filled,
  }
  const dark = {
    ...scale(onDark),
    anchor: linkOnDark,
    'sea-text': linkOnDark,
    'sea-light': shade,
    'sea-light-hover': mixed(given, DARK_PAGE, 0.7),
    'sea-light-color': onShade,
    'sea-outline': linkOnDark,
  }
  return `${rule('light', light, onTint)}${rule('dark', dark, onShade)}`
}

/** From the lightest to the darkest, as the library counts them: 7 is that of buttons. */
function scale(filled: Rgb): Readonly<Record<string, Rgb>> {
  const lighter = [0.92, 0.84, 0.66, 0.48, 0.32, 0.18, 0.08].map((share) => mixed(filled, WHITE, share))
  const darker = [0, 0.2, 0.4].map((share) => mixed(filled, BLACK, share))
  return Object.fromEntries([...lighter, ...darker].map((colour, index) => [`sea-${index}`, colour]))
}

function rule(scheme: 'light' | 'dark', colours: Readonly<Record<string, Rgb>>, quiet: Rgb): string {
  const lines = Object.entries(colours).map(([name, colour]) => `--mantine-color-${name}:${hexOf(colour)}`)
  // Its own rules have the same weight but for the first `:root`.
  return `:root:root[data-mantine-color-scheme=${scheme}]{${[...lines, `--mantine-primary-color-light-color:${hexOf(quiet)}`].join(';')}}\n`
}

/** The first step towards `other` at which the condition holds. */
function until(colour: Rgb, other: Rgb, holds: (colour: Rgb) => boolean): Rgb {
  for (let share = 0; share < 1; share += STEP) {
    const next = mixed(colour, other, share)
    if (holds(next)) return next
  }
  return other
}

function mixed(colour: Rgb, other: Rgb, share: number): Rgb {
  const part = (index: 0 | 1 | 2): number => Math.round(colour[index] + (other[index] - colour[index]) * share)
  return [part(0), part(1), part(2)]
}

/** By WCAG 2: from 1 to 21. */
function contrast(one: Rgb, other: Rgb): number {
  const [dark, light] = [luminance(one), luminance(other)].toSorted((left, right) => left - right) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** `#rrggbb`. */
function rgbOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16)
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}

function hexOf(colour: Rgb): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}
