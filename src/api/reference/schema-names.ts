import * as adminAccounts from '../admin/account-contract.ts'
import * as adminCatalogBody from '../admin/catalog-body.ts'
import * as adminCatalog from '../admin/catalog-contract.ts'
import * as adminNotices from '../admin/notice-contract.ts'
import * as adminRecords from '../admin/record-contract.ts'
import * as adminReports from '../admin/report-contract.ts'
import * as adminGroups from '../admin/group-contract.ts'
import * as adminTokens from '../admin/token-contract.ts'
import { ADMIN_ROUTES } from '../admin/contract.ts'
import * as adminTopUps from '../admin/top-up-contract.ts'
import * as keys from '../cabinet/key-contract.ts'
import { AccountLimit } from '../records/limits-contract.ts'
import * as story from '../records/request-story-contract.ts'
import * as log from '../cabinet/log-contract.ts'
import * as members from '../cabinet/member-contract.ts'
import * as models from '../cabinet/model-contract.ts'
import * as money from '../cabinet/money-contract.ts'
import * as notices from '../cabinet/notice-contract.ts'
import * as sessions from '../cabinet/session-contract.ts'
import * as endpoints from '../public/contract.ts'
import * as chat from '../../protocols/openai/client/chat/schema.ts'
import * as completions from '../../protocols/openai/client/completions.ts'
import * as embeddings from '../../protocols/openai/client/embeddings.ts'
import * as fields from '../../kinds/fields/routed-request.ts'
import * as images from '../../protocols/openai/client/images.ts'
import * as rerank from '../../protocols/openai/client/rerank.ts'
import * as speech from '../../protocols/openai/client/speech.ts'
import * as transcription from '../../protocols/openai/client/transcription.ts'
import * as notifying from '../../notices/contract.ts'
import type { JsonSchema } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { CLIENT_DOCS, PUBLIC_ROUTES } from './public-routes.ts'
import * as errors from './error-bodies.ts'

const SOURCES: readonly (readonly [prefix: string, modules: readonly Readonly<Record<string, unknown>>[]])[] = [
  [
    '',
    [
      endpoints,
      errors,
      fields,
      chat,
      completions,
      embeddings,
      images,
      rerank,
      speech,
      transcription,
      ...CLIENT_DOCS.map(({ records }) => records),
      ...recordsOf(PUBLIC_ROUTES),
    ],
  ],
  ['Cabinet', [sessions, keys, log, story, members, models, money, notices, { AccountLimit }]],
  [
    'Admin',
    [
      adminAccounts,
      adminGroups,
      adminCatalog,
      adminCatalogBody,
      adminNotices,
      notifying,
      adminRecords,
      adminReports,
      adminTokens,
      adminTopUps,
      ...recordsOf(ADMIN_ROUTES),
    ],
  ],
]

function recordsOf(routes: Readonly<Record<string, WireRoute>>): readonly Readonly<Record<string, JsonSchema>>[] {
  return Object.values(routes).map(({ records = {} }) => records)
}

/** The contracts' records by export name: each is in the document once. */
export const SCHEMA_NAMES: ReadonlyMap<JsonSchema, string> = new Map(
  SOURCES.flatMap(([prefix, modules]) =>
    modules.flatMap((module) =>
      Object.entries(module).flatMap(([name, value]): (readonly [JsonSchema, string])[] =>
        // Among the modules' exports, objects with a capitalised name are schemas.
        /^[A-Z][a-z]/.test(name) && typeof value === 'object' && value !== null ? [[value, `${prefix}${name}`]] : [],
      ),
    ),
  ),
)
