import type { AdapterPorts } from '../ports/adapter.ts'
import { openaiVideos } from './openai.ts'
import { PREDICTIONS } from './replicate.ts'
import { sandboxVideos } from './sandbox.ts'
import { askVideos, type VideoUpstream } from './upstream.ts'
import { veo } from './veo.ts'

/** How each provider's protocol makes videos, by the name of its adapter. */
const UPSTREAMS: Readonly<Record<string, (ports: AdapterPorts) => VideoUpstream>> = {
  openai: ({ jobs }) => openaiVideos(jobs),
  gemini: ({ jobs }) => veo(jobs),
  replicate: ({ jobs }) => askVideos(PREDICTIONS, jobs),
  sandbox: ({ clock }) => sandboxVideos(clock),
}

/** Adapter name of the catalogue file → its calls for videos. */
export type VideoTable = ReadonlyMap<string, VideoUpstream>

export function videoUpstreams(ports: AdapterPorts): VideoTable {
  return new Map(Object.entries(UPSTREAMS).map(([name, create]) => [name, create(ports)]))
}
