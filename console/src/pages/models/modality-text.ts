import i18n from 'i18next'

/** What a model takes or gives, in the reader's language; a word of the catalogue that has no text stays as it is. */
export function modalityTexts(modalities: readonly string[]): string {
  return modalities
    .map((name) => (i18n.exists(`modality.${name}`) ? i18n.t(`modality.${name}` as 'modality.text') : name))
    .join(', ')
}
