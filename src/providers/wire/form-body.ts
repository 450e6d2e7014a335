/** A file of a form. */
export interface FormFile {
  readonly fileName: string
  readonly contentType: string
  readonly bytes: Buffer
}

/**
 * A `multipart/form-data` body. Names, file names and types are ours, and hold nothing that a header could break on.
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

/** Nobody but us knows it before the form is sent, so that neither a field nor the file can hold it. */
export function formBoundary(generationId: string): string {
  return `tollgate-${generationId}`
}
