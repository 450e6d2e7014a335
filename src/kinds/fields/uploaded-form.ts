import { ApiError } from '../../base/errors.ts'

const WHOLE = /^[+-]?\d{1,16}$/

/** A file of a form. */
export interface UploadedFile {
  /** Name of the form's field. */
  readonly field: string
  readonly fileName: string
  readonly contentType: string | null
  readonly bytes: Buffer
}

/** A form that the edge has parsed; most routes take one file at most. */
export interface UploadedForm {
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly files: readonly UploadedFile[]
}

/** Fields of a form that are not texts. */
export interface TypedFields {
  /** Fields whose texts are read as JSON. */
  readonly json: ReadonlySet<string>
  readonly whole: ReadonlySet<string>
}

/** The value that a field of a form has in JSON; one that cannot be read stays a text. */
export function formValue(name: string, text: string, { json, whole }: TypedFields): unknown {
  if (whole.has(name)) return WHOLE.test(text) ? Number(text) : text
  if (name === 'stream') return text === 'true' || text === '1'
  if (!json.has(name)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function uploadError(what: string): ApiError {
  return new ApiError('file_upload_error', `File upload failed: ${what}`)
}
