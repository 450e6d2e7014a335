/** A multipart body as a client's `FormData` would be, with a file of this name; a list gives a field several times. */
export function audioForm(
  fields: Readonly<Record<string, string | readonly string[]>>,
  file: { readonly bytes: Buffer; readonly name?: string; readonly type?: string } | null,
): { readonly body: Buffer; readonly headers: Record<string, string> } {
  const parts: Buffer[] = []
  for (const [name, value] of Object.entries(fields)) {
    for (const text of typeof value === 'string' ? [value] : value)
      parts.push(Buffer.from(`--form\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`))
  }
  if (file !== null) {
    const { bytes, name = 'sound.wav', type = 'application/octet-stream' } = file
    parts.push(
      Buffer.from(
        `--form\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n`,
      ),
      bytes,
      Buffer.from('\r\n'),
    )
  }
  return {
    body: Buffer.concat([...parts, Buffer.from('--form--\r\n')]),
    headers: { 'content-type': 'multipart/form-data; boundary=form' },
  }
}
