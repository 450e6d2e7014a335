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
