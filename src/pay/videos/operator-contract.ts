import { body, filled, list, nullable, object, oneOf, rub, text, time, whole, type Static } from '../../base/schema.ts'
import { REFERENCE_CHARS_MAX } from '../../protocols/videos/request.ts'

const ParkedVideo = object({
  id: text(),
  account: text(),
  model: text(),
  provider: nullable(text()),
  endpoint: nullable(text()),
  held: rub(),
  created_at: time(),
  expires_at: time(),
})
export type ParkedVideo = Static<typeof ParkedVideo>
export const ResolveBody = body({
  upstream_id: nullable(filled("The provider's own id of the job; null where it never arrived.", REFERENCE_CHARS_MAX)),
})
const Resolved = object({ id: text(), status: oneOf(['failed', 'in_progress']) })

/** Rows of the admin API about video jobs. */
export const VIDEO_ROUTES = {
  'GET /admin/v1/videos/parked': {
    command: 'video parked',
    scope: 'log:read',
    summary: 'Video jobs whose submission may have arrived at the provider.',
    answer: object({ data: list(ParkedVideo), total: whole() }),
    records: { ParkedVideo, ResolveBody, Resolved },
  },
  'POST /admin/v1/videos/:id/resolve': {
    command: 'video resolve',
    scope: 'money:write',
    summary: 'Says what became of such a job at the provider.',
    body: ResolveBody,
    answer: Resolved,
    example: { body: { upstream_id: null } },
  },
} as const
