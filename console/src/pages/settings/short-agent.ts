const BROWSERS: readonly (readonly [mark: string, name: string])[] = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['YaBrowser/', 'Yandex Browser'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
]
const SYSTEMS: readonly (readonly [mark: string, name: string])[] = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
]
const SHOWN_MAX = 40

/** `Chrome · Linux` instead of a whole User-Agent. An unknown one is cut. */
export function shortAgent(userAgent: string): string {
  const names = [BROWSERS, SYSTEMS]
    .map((table) => table.find(([mark]) => userAgent.includes(mark))?.[1])
    .filter((name) => name !== undefined)
  return names.length === 0 ? userAgent.slice(0, SHOWN_MAX) : names.join(' · ')
}
