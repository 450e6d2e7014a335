import type { Relay } from '../relay/relay.ts'
import { VideoDesk } from './video-desk.ts'
import { VideoRunner, type RunnerPorts } from './video-runner.ts'

/** Video jobs: what an account does with them, and the work on them, which a new one wakes. */
export function createVideos(ports: RunnerPorts & { readonly relay: Pick<Relay, 'admitJob'> }): {
  readonly desk: VideoDesk
  readonly runner: VideoRunner
} {
  const runner = new VideoRunner(ports)
  return { runner, desk: new VideoDesk({ ...ports, created: () => runner.wake() }) }
}
