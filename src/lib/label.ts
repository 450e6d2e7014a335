/** A text in each language of the console. */
export interface Label {
  readonly en: string
  readonly ru: string
}
