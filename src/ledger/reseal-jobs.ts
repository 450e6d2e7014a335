import { jobPurpose, type JobStore } from '../store/job-store.ts'
import type { KeyWrap } from './seal.ts'

/**
 * Seals what jobs were asked for with the first key, so that an old one can go; answers how many there are. What no key
 * opens any more stays as it is.
 */
export function resealJobs(jobs: Pick<JobStore, 'reseal'>, keyWrap: KeyWrap): Promise<number> {
  return jobs.reseal((id, request) => {
    try {
      return keyWrap.seal(keyWrap.open(request, jobPurpose(id)), jobPurpose(id))
    } catch {
      return request
    }
  })
}
