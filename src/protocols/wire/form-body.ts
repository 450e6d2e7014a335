/** A file in a form. */
export interface FormFile {
  readonly fileName: string
  readonly contentType: string
  readonly bytes: Buffer
}

/**
 * A `multipart/form-data` body. Names, file names and types come from our code, and contain nothing that breaks a
 * header.
 */
export function formBody(
  fields: readonly (readonly [name: string, value: string])[],
  file: FormFile,
  boundary: string,
): { readonly body: Buffer; readonly contentType: string } {
  const texts = fields
    .map(([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('')
  const head = `${texts}--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${file.fileName}"\r\nContent-Type: ${file.contentType}\r\n\r\n`
  return {
    body: Buffer.concat([Buffer.from(head), file.bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  }
}

/** The boundary is a secret until the form is sent, so that no field or file can contain it. */
export function formBoundary(generationId: string): string {
  return `tollgate-${generationId}`
}
