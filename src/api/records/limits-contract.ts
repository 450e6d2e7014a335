import {
  body,
  flag,
  list,
  map,
  nullable,
  optional,
  rub,
  text,
  time,
  whole,
  type Schema,
  object,
  oneOf,
  type Static,
} from '../../base/schema.ts'

const REQUESTS = nullable(whole('In any minute; null = as the account.', { minimum: 1, maximum: 1_000_000 }))
const TOKENS = nullable(
  whole('Of paid requests in any minute: reserved at the start, corrected at the end; null = no limit.', {
    minimum: 1,
    maximum: 1_000_000_000,
  }),
)
const RUNNING = nullable(whole('Paid requests at once; null = no limit.', { minimum: 1, maximum: 10_000 }))
const MODEL = body({ requests_per_minute: optional(REQUESTS), tokens_per_minute: optional(TOKENS) })
const MODELS = nullable({
  ...map(MODEL, 'By model id or by a pattern such as `openai/*`; each model that fits is counted for itself.'),
  propertyNames: text('', { minLength: 1, maxLength: 200 }),
})
const IPS = nullable(
  list(text('', { minLength: 1 }), 'Addresses and CIDR ranges, IPv4 or IPv6; null = from everywhere.', {
    maxItems: 100,
  }),
)

/** The limits of a key in answers. */
export const KEY_LIMITS = {
  requests_per_minute: REQUESTS,
  tokens_per_minute: TOKENS,
  running_requests: RUNNING,
  model_limits: MODELS,
  allowed_ips: IPS,
} as const

/** The same fields in bodies; absent = unchanged. */
export const KEY_LIMIT_FIELDS = {
  requests_per_minute: optional(REQUESTS),
  tokens_per_minute: optional(TOKENS),
  running_requests: optional(RUNNING),
  model_limits: optional(MODELS),
  allowed_ips: optional(IPS),
} as const

/** The money that a key has spent: in all, and in each of its periods. */
export const KEY_USAGE = { usage: rub(), usage_daily: rub(), usage_weekly: rub(), usage_monthly: rub() } as const

/** The last fields of a key in answers. */
export const KEY_STATE = {
  ...KEY_USAGE,
  expires_at: nullable(time()),
  allowed_models: nullable(list(text())),
  ...KEY_LIMITS,
  created_at: time(),
  last_used_at: nullable(time()),
  old_secret_until: nullable(time('Until when a replaced secret works as well; null = none was replaced.')),
} as const

export const ALLOWED_MODELS = list(text('', { minLength: 1 }), 'null = every model.', { maxItems: 1_000 })

/** The body that gives a key a new secret. */
export const KeyRotationBody = body({
  grace_seconds: optional(
    whole('How long the old secret works on; 86,400 (a day) if absent, 0 = it ends at once.', {
      minimum: 0,
      maximum: 2_592_000,
    }),
  ),
})

/** The bodies that make a key and change it. */
export function keyBodies<Name, Reset>(name: Schema<Name>, limitReset: Schema<Reset>) {
  const limit = optional(
    nullable(rub('What the key may spend in a period; null or absent = no limit.', { minimum: 0 })),
  )
  const terms = {
    limit_reset: optional(limitReset),
    expires_at: optional(nullable(time())),
    allowed_models: optional(nullable(ALLOWED_MODELS)),
    ...KEY_LIMIT_FIELDS,
  }
  return {
    made: body({ limit, name, ...terms }),
    changed: body({ name: optional(nullable(name)), disabled: optional(flag()), limit, ...terms }),
  }
}

export const LIMIT_RESET = oneOf(['daily', 'weekly', 'monthly'], 'When the limit begins anew; null = never.')

/** The limit that all keys of an account have together, in answers. */
export const ACCOUNT_LIMIT = {
  limit: nullable(rub('What all its keys together may spend in a period; null = no limit.')),
  limit_reset: nullable(LIMIT_RESET),
  limit_used: nullable(rub('Spent in the period that runs; null without a limit.')),
  limit_remaining: nullable(rub('Without what running requests have reserved; null without a limit.')),
  limit_resets_at: nullable(time('null = never.')),
} as const

export const AccountLimit = object(ACCOUNT_LIMIT)
export type AccountLimit = Static<typeof AccountLimit>
