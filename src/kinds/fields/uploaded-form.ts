/** A form that the edge has parsed. */
export interface UploadedForm {
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly file: {
    readonly field: string
    readonly fileName: string
    readonly contentType: string | null
    readonly bytes: Buffer
  } | null
}
