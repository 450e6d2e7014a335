import { videoUpstreams } from '../../protocols/videos/videos.ts'
import type { PaidRoomRow } from '../paid-room.ts'
import { AccountVideos } from './account-videos.ts'
import { VIDEO_DOCS, videoRoutes } from './video-routes.ts'
import { parkedJobs } from './parked-jobs.ts'
import { VideoRunner } from './video-runner.ts'

/** Videos: jobs that outlive their request (wire.md 4). */
export const VIDEO_ROOM: PaidRoomRow = {
  open: (ports) => {
    const { store, upstream, keyWrap, node, idempotency } = ports
    const { jobs, files } = store
    const own = { ...ports, jobs, files, upstreams: videoUpstreams(upstream), cipher: keyWrap, node: node.id }
    const runner = new VideoRunner(own)
    // A new job wakes the worker.
    const videos = new AccountVideos({ ...own, created: () => runner.wake() })
    return {
      routes: (edge) => videoRoutes({ ...edge, videos, idempotency }),
      operator: parkedJobs(jobs, videos),
      start: () => runner.start(),
      stop: () => runner.stop(),
    }
  },
  docs: VIDEO_DOCS,
}
