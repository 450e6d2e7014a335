import i18n from 'i18next'
import { MODALITIES, type Modality } from '../../../../src/tables/model-types.ts'

/** A model's input or output in the reader's language; a word that is not in the table stays unchanged. */
export function modalityTexts(modalities: readonly string[]): string {
  return modalities.map((name) => (isModality(name) ? i18n.t(`modality.${name}`) : name)).join(', ')
}

function isModality(name: string): name is Modality {
  return Object.hasOwn(MODALITIES, name)
}
