import { adapters, knownProviders, type KnownService } from 'virtual:adapters'

export interface Service extends KnownService {
  /** One of those whose prices come with Tollgate. */
  readonly isKnown: boolean
  /** The operator names it. */
  readonly isOwn: boolean
}

const OTHERS: readonly (readonly [slug: string, name: string])[] = [
  ['bedrock', 'Amazon Bedrock'],
  ['elevenlabs', 'ElevenLabs'],
  ['deepgram', 'Deepgram'],
  ['replicate', 'Replicate'],
  ['ollama', 'Ollama'],
]

const addressOf = (adapter: string): string => adapters.find(([name]) => name === adapter)?.[1].baseUrl ?? ''

/** Services with a name, in the order in which they are shown. */
export const SERVICES: readonly Service[] = [
  ...knownProviders.map((service) => ({ ...service, isKnown: true, isOwn: false })),
  ...OTHERS.map(([slug, name]) => ({
    slug,
    name,
    adapter: slug,
    baseUrl: addressOf(slug),
    cancelStopsBilling: false,
    isKnown: false,
    isOwn: false,
  })),
]

/** Any service that speaks a protocol that we know. */
export const OWN: Service = {
  slug: 'own',
  name: '',
  adapter: 'openai',
  baseUrl: '',
  cancelStopsBilling: false,
  isKnown: false,
  isOwn: true,
}

/** Protocols that an address of the operator may speak; the rest have a service of their own. */
export const OWN_ADAPTERS = ['openai', 'anthropic', 'gemini', 'cohere', 'ollama'] as const
