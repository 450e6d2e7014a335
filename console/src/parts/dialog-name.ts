/** Names a dialog in the page: a test opens each name of the source. */
export function dialogName(name: string): Readonly<Record<string, string>> {
  return { 'data-dialog': name }
}
