import type { ItemFields } from '../answer-event.ts'
import { isObject } from '../json-fields.ts'

/**
 * An annotation in the form of Responses, which has no object within: chat's `{type, url_citation: {…}}` is one with
 * its members.
 */
export function flatAnnotation(annotation: unknown): unknown {
  if (!isObject(annotation) || typeof annotation['type'] !== 'string') return annotation
  const { type } = annotation
  const inner = annotation[type]
  if (!isObject(inner)) return annotation
  return { type, ...(type === 'url_citation' ? { start_index: 0, end_index: 0, title: '' } : {}), ...inner }
}

/** The images of a chat answer as the items that Responses has for them; one that is no data stays out. */
export function generatedImages(images: unknown): readonly ItemFields[] {
  if (!Array.isArray(images)) return []
  return images.flatMap((image: unknown) => {
    const url = isObject(image) && isObject(image['image_url']) ? image['image_url']['url'] : null
    const data = typeof url === 'string' ? /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1] : undefined
    return data === undefined ? [] : [{ type: 'image_generation_call', status: 'completed', result: data }]
  })
}
