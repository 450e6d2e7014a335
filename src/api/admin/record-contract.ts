import { flag, nullable, object, optional, text } from '../../base/schema.ts'

/** Before an external id in a path, and in a field that names another record. */
export const EXTERNAL_PREFIX = 'external:'
export const EXTERNAL_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}$/

const ExternalId = text('The name that a client gave it, which paths take as `external:NAME`; null = none.', {
  minLength: 1,
  maxLength: 128,
  pattern: EXTERNAL_ID_PATTERN.source,
})

/** In answers. */
export const EXTERNAL_ID = nullable(ExternalId)
/** In a change; null takes it away. */
export const EXTERNAL_ID_CHANGE = optional(EXTERNAL_ID)

export const Removed = object({ id: text(), deleted: flag('false: there was none.') })
