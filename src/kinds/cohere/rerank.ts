import { rubles } from '../../base/money.ts'
import { rerankBody } from '../rerank/body.ts'

/** The answer of `/v2/rerank`. */
export const cohereRerankBody: typeof rerankBody = (request, results, identity, charge) => {
  const { results: ranked } = rerankBody(request, results, identity, charge)
  const { searches, tokens, chargedMicro } = charge
  return {
    id: identity.id,
    results: ranked,
    meta: {
      api_version: { version: '2' },
      billed_units: {
        ...(searches === null ? {} : { search_units: searches }),
        ...(tokens === null ? {} : { input_tokens: tokens }),
      },
      cost: rubles(chargedMicro),
      currency: 'RUB',
    },
  }
}
