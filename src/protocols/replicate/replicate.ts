import { NO_PARAMETERS, VIDEO_PARAMETERS, type Adapter } from '../ports/adapter.ts'

/** Replicate, whose only calls are jobs for videos. */
export function createReplicate(): Adapter {
  return { name: 'replicate', parameters: { ...NO_PARAMETERS, video: VIDEO_PARAMETERS } }
}
