import { formValue, uploadError, type UploadedFile, type UploadedForm } from '../fields/uploaded-form.ts'
import { imageTypeOf } from '../images/bytes.ts'
import { parseVideo } from './parse.ts'
import type { VideoRequest } from '../video.ts'

/** Fields that are not texts: each is read as the JSON that it is written as. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['frame_images', 'input_references', 'provider', 'generate_audio'])
const WHOLE_FIELDS: ReadonlySet<string> = new Set(['duration', 'seed'])
const REFERENCE = 'input_reference'
/** A client's way to write an object into a form. */
const REFERENCE_ADDRESS = 'input_reference[image_url]'

/** Reads a form, as OpenAI's clients send every video, as if it had come as JSON; its file is a picture to start from. */
export function parseVideoForm({ fields, files: [file] }: UploadedForm): VideoRequest {
  const body: Record<string, unknown> = {}
  for (const [name, value] of fields) {
    if (name === REFERENCE_ADDRESS) body[REFERENCE] = value
    else if (name !== '__proto__' && value !== '')
      body[name] = formValue(name, value, { json: JSON_FIELDS, whole: WHOLE_FIELDS })
  }
  if (file !== undefined) body[REFERENCE] = pictureAddress(file)
  return parseVideo(body)
}

function pictureAddress({ field, bytes }: UploadedFile): string {
  if (field !== REFERENCE) throw uploadError(`the file must be in field '${REFERENCE}', got '${field.slice(0, 40)}'`)
  const mediaType = imageTypeOf(bytes)
  if (mediaType === null) throw uploadError(`the file in field '${REFERENCE}' is no image`)
  return `data:${mediaType};base64,${bytes.toString('base64')}`
}
