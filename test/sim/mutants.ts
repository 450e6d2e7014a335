/** A bug that somebody has made somewhere, planted in a copy of the source; the simulation has to notice it. */
export interface Mutant {
  readonly name: string
  /** Below `src`. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

const VALUES = 'store/ledger-values.ts'
const STATEMENTS = 'store/statement-store.ts'
const JOURNAL = 'ledger/end-journal.ts'
const CORE = 'ledger/ledger-core.ts'
const LEDGER = 'ledger/ledger.ts'
const WRITER = 'ledger/batch-writer.ts'
const GENERATION = 'relay/generation.ts'
const EMBEDDED = 'store/sqlite-ledger.ts'

/** The list of reliability.md 3.3 and more; `find` stands in its file exactly once. */
export const MUTANTS: readonly Mutant[] = [
  // The table of reliability.md 3.3.
  {
    name: 'check then deduct: a hold is not guarded by what is available',
    file: CORE,
    find: 'if (account.availableMicro < request.amountMicro) return',
    replace: 'if (account.availableMicro + account.heldMicro < request.amountMicro) return',
  },
  {
    name: 'settle without a look at the state',
    file: CORE,
    find: "if (hold.state === 'settled' || hold.state === 'settled_late') {\n      return { status: 'replayed'",
    replace: "if (hold.chargedMicro === -1n) {\n      return { status: 'replayed'",
  },
  {
    name: 'void without a look at the state',
    file: CORE,
    find: "if (hold.state === 'voided' || closedAfterExpiry(hold)) return { status: 'replayed' }",
    replace: "if (closedAfterExpiry(hold)) return { status: 'replayed' }",
  },
  {
    name: 'a settle after expiry takes the hold as if it were there',
    file: CORE,
    find: 'const coveredMicro = late ? 0n : hold.amountMicro',
    replace: 'const coveredMicro = hold.amountMicro',
  },
  {
    name: 'an overrun is charged unchecked',
    file: CORE,
    find: 'if (costMicro <= coveredMicro) return costMicro',
    replace: 'if (costMicro >= 0n) return costMicro',
  },
  {
    name: 'an overrun takes what the key limit does not leave',
    file: CORE,
    find: 'least(costMicro - coveredMicro, beyondMicro, roomMicro)',
    replace: 'least(costMicro - coveredMicro, beyondMicro)',
  },
  {
    name: 'the key is skipped when a hold is given back',
    file: CORE,
    find: '    key.heldMicro += heldMicro\n',
    replace: '    if (heldMicro > 0n) key.heldMicro += heldMicro\n',
  },
  {
    name: 'a key limit forgets what is held',
    file: CORE,
    find: 'spentMicro + key.heldMicro + request.amountMicro > key.limitMicro',
    replace: 'spentMicro + request.amountMicro > key.limitMicro',
  },
  {
    name: 'a top-up is not idempotent',
    file: 'store/entry-store.ts',
    find: 'if (known !== undefined) {',
    replace: "if (known !== undefined && text(known, 'ref') === '') {",
  },
  {
    name: 'void after settle',
    file: CORE,
    find: "if (hold.state === 'settled' || hold.state === 'settled_late') return voidOfCharged(hold, request)",
    replace: '',
  },
  {
    name: 'settle after void',
    file: CORE,
    find: "if (hold.state === 'voided' || closedAfterExpiry(hold)) return { status: 'not_open', state: 'voided' }",
    replace: '',
  },
  {
    name: 'a hold leaks when the provider fails',
    file: GENERATION,
    find: 'const outcome = await this.#ports.ledger.void({',
    replace: "const outcome = error !== null ? { status: 'voided' } as const : await this.#ports.ledger.void({",
  },
  {
    name: 'a hold leaks when its answer is lost',
    file: LEDGER,
    find: '    const outcome = await this.#place(operation)\n',
    replace: '    this.#running.add(request.generationId)\n    const outcome = await this.#place(operation)\n',
  },
  {
    name: 'an abort is not billed',
    file: GENERATION,
    find: 'void (verdict === null ? this.#finishFree(null) : this.#settle(verdict, (_usage) => undefined))',
    replace: 'void this.#finishFree(null)',
  },
  {
    name: 'a drained answer is not billed',
    file: GENERATION,
    find: "    if (attempt.isEmpty()) return this.#attemptFailed('empty')",
    replace:
      "    if (this.#draining) return this.#finishFree(null)\n    if (attempt.isEmpty()) return this.#attemptFailed('empty')",
  },
  {
    name: 'zero usage is taken for missing usage',
    file: 'orders/chat-attempt.ts',
    find: 'return usage === null ? this.delivered() : this.#measure(usage)',
    replace:
      "return usage === null || usage.inputTokens === 0 ? this.#measure({ ...countedReport(0, 0), missing: ['input', 'output'] }) : this.#measure(usage)",
  },
  {
    name: 'missing usage is free',
    file: 'orders/chat-attempt.ts',
    find: 'return usage === null ? this.delivered() : this.#measure(usage)',
    replace: 'return this.#measure(usage ?? countedReport(0, 0))',
  },
  {
    name: 'implausible usage is believed',
    file: 'plan/usage-bounds.ts',
    find: 'if (inputOk && outputOk) return report',
    replace: 'if (inputOk || outputOk || !inputOk) return report',
  },
  {
    name: 'a number that cannot be read is 0',
    file: 'plan/usage-bounds.ts',
    find: 'report.missing === undefined ? report : counted(report, limits)',
    replace: 'report',
  },
  {
    name: 'what is charged is booked as what the provider bills',
    file: GENERATION,
    find: 'const billedMicro = providerCostMicro(verdict.reported.usage',
    replace: 'const billedMicro = providerCostMicro(verdict.report.usage',
  },
  {
    name: 'money in floats',
    file: 'meters.ts',
    find: 'return ceilMicro(exactCost(usage, prices))',
    replace:
      'const exact = exactCost(usage, prices)\n  return BigInt(Math.round(Number(exact.digits) / 10 ** exact.scale))',
  },
  { name: 'no sweeper', file: LEDGER, find: '    this.#repeat(SWEEP_MS, () => this.sweep())\n', replace: '' },
  { name: 'no lease is renewed', file: LEDGER, find: '    this.#repeat(RENEW_MS, () => this.renew())\n', replace: '' },
  {
    name: 'no late settle',
    file: CORE,
    find: "if (hold.state === 'voided' || closedAfterExpiry(hold)) return { status: 'not_open', state: 'voided' }",
    replace: "if (hold.state !== 'open' && hold.state !== 'settled') return { status: 'not_open', state: 'voided' }",
  },
  {
    name: 'leases are renewed per node: an end that failed keeps its hold alive',
    file: LEDGER,
    find: "  async void(request: Omit<VoidRequest, 'op' | 'atMs'>): Promise<VoidOutcome> {\n    this.#running.delete(request.generationId)\n",
    replace: "  async void(request: Omit<VoidRequest, 'op' | 'atMs'>): Promise<VoidOutcome> {\n",
  },
  // And what else can go wrong.
  {
    name: 'the end is shown before the settle is durable',
    file: GENERATION,
    find: '    try {\n      const outcome = await this.#ports.ledger.settle({',
    replace:
      "    if (this.#committed && verdict.status === 'completed') show({ report: verdict.report, chargedMicro: chargeMicro(usage, endpoint.sell) })\n    try {\n      const outcome = await this.#ports.ledger.settle({",
  },
  {
    name: 'a cut answer is charged',
    file: GENERATION,
    find: "if (this.input.plan.snapshot.settings.midstreamError === 'free') return this.#finishFree(error, this.#running().delivered())",
    replace: '',
  },
  {
    name: 'an empty answer is charged',
    file: GENERATION,
    find: "if (attempt.isEmpty()) return this.#attemptFailed('empty')",
    replace: '',
  },
  {
    name: 'another provider is asked after the answer has begun',
    file: GENERATION,
    find: '    if (this.#contentSent) return void this.#brokeMidStream(attempt, failure)\n',
    replace: '',
  },
  {
    name: 'the buying price is charged',
    file: GENERATION,
    find: 'costMicro: chargeMicro(usage, endpoint.sell)',
    replace: 'costMicro: chargeMicro(usage, endpoint.buy)',
  },
  {
    name: 'a charge at the prices of now',
    file: 'relay/relay.ts',
    find: 'priceVersion: plan.snapshot.priceVersion',
    replace: 'priceVersion: plan.snapshot.priceVersion + 1',
  },
  {
    name: 'a log row names the wrong price version',
    file: 'relay/verdict.ts',
    find: 'priceVersion: input.plan.snapshot.priceVersion',
    replace: 'priceVersion: input.plan.snapshot.priceVersion - 1',
  },
  {
    name: 'an answer that is read on is counted for ever',
    file: GENERATION,
    find: 'if (this.#draining) this.#ports.drains.end()',
    replace: '',
  },
  {
    name: 'what a provider may bill for an answer that was cut off is not booked',
    file: GENERATION,
    find: 'if (asked && this.#keepsBilling) this.#insuredMicro += restMicro(this.input.plan.holdMicro, verdict, this.#candidate.endpoint)',
    replace: '',
  },
  {
    name: 'what a provider may bill beyond what came of an answer that was waited for in vain is not booked',
    file: GENERATION,
    find: 'if (this.#draining && isGivenUp(failure)) this.#insuredMicro += restMicro(this.input.plan.holdMicro, left, this.#candidate.endpoint)',
    replace: '',
  },
  {
    name: 'a cancelled stream is let off',
    file: GENERATION,
    find: '      this.#abandon()\n    }\n    return this.#draining',
    replace: '      this.#cutAndCharge()\n    }\n    return this.#draining',
  },
  {
    name: 'what a provider may bill for an answer that was waited for in vain is not booked',
    file: GENERATION,
    find: 'if (this.#draining && billed === null && isGivenUp(failure)) this.#insuredMicro += this.input.plan.holdMicro',
    replace: '',
  },
  {
    name: 'who leaves early is let off',
    file: GENERATION,
    find: 'this.#place.waits || !this.#keepsBilling',
    replace: 'this.#place.waits || !this.#upstreamAnswered',
  },
  { name: 'a drain has no end', file: GENERATION, find: '() => this.#cutAndCharge())', replace: '() => undefined)' },
  {
    name: 'a failed end is given up at once',
    file: WRITER,
    find: 'const OUTLAST_MS = 2_000',
    replace: 'const OUTLAST_MS = 0',
  },
  {
    name: 'a batch that is split loses its second half',
    file: WRITER,
    find: '      await this.#write(batch.slice(middle))\n',
    replace: '',
  },
  { name: 'a failed batch is forgotten', file: WRITER, find: '    this.#queue.unshift(...waiting)\n', replace: '' },
  {
    name: 'ends are not written durably',
    file: WRITER,
    find: "batch.some(({ operation }) => operation.op !== 'hold' || operation.job !== undefined)",
    replace: 'batch.length > BATCH_MAX',
  },
  {
    name: 'a charge is not counted in its week',
    file: CORE,
    find: "['day', day], ['week', week]",
    replace: "['day', day], ['week', day]",
  },
  {
    name: 'a charge counts in the period it was settled in',
    file: CORE,
    find: 'const { day, week, month } = hold.periods',
    replace:
      'const day = new Date(hold.endedAtMs ?? 0).toISOString().slice(0, 10)\n    const { week, month } = hold.periods',
  },
  {
    name: 'a charge does not count for the holds of its own commit',
    file: CORE,
    find: 'if (spentMicro !== undefined) this.#rows.spends.set(name, spentMicro + chargedMicro)',
    replace: 'if (spentMicro === -1n) this.#rows.spends.set(name, spentMicro + chargedMicro)',
  },
  {
    name: 'entries are not chained',
    file: CORE,
    find: 'account.entryHead = entryHash(account.entryHead,',
    replace: "account.entryHead = entryHash('',",
  },
  {
    name: 'a shortfall is not booked',
    file: CORE,
    find: 'if (shortfallMicro > 0n) this.#post(',
    replace: 'if (shortfallMicro < 0n) this.#post(',
  },
  {
    name: 'the loss of a free answer is not booked',
    file: CORE,
    find: '    this.#insure(account, hold, request)\n    if (request.record !== null) {',
    replace: '    if (request.record !== null) {',
  },
  {
    name: 'the loss of failed attempts is not booked when the request is answered',
    file: CORE,
    find: '    this.#insure(account, hold, request)\n    this.#addLog',
    replace: '    this.#addLog',
  },
  {
    name: 'a free answer has no log row',
    file: CORE,
    find: 'if (request.record !== null) {',
    replace: "if (request.record !== null && hold.state === 'settled') {",
  },
  {
    name: 'a log row is not numbered',
    file: CORE,
    find: '    account.logRows += 1n\n',
    replace: '    if (record.streamed) account.logRows += 1n\n',
  },
  {
    name: 'the sweeper does not look at the lease again',
    file: CORE,
    find: ' || hold.leaseUntilMs >= request.atMs) return',
    replace: ') return',
  },
  {
    name: 'the sweeper takes what runs on this node',
    file: LEDGER,
    find: 'holds.filter(({ id }) => !this.#running.has(id))',
    replace: 'holds',
  },
  {
    name: 'a node that starts voids what runs on the others',
    file: LEDGER,
    find: 'this.#ports.singleProcess ? await this.#recover() : 0',
    replace: 'await this.#recover()',
  },
  {
    name: 'a node that starts leaves the holds of the dead one',
    file: LEDGER,
    find: 'this.#ports.singleProcess ? await this.#recover() : 0',
    replace: '0 * (await this.#recover.length)',
  },
  {
    name: 'a revoked key opens on',
    file: CORE,
    find: "return key.disabled ? 'key_deactivated' : null",
    replace: 'return null',
  },
  {
    name: 'a lowered limit records no overrun',
    file: 'store/key-store.ts',
    find: 'if (patch.limitMicro !== undefined || patch.limitReset !== undefined) await recordExcess',
    replace: 'if (patch.name !== undefined) await recordExcess',
  },
  {
    name: 'a node that stops starts one more answer',
    file: 'relay/relay.ts',
    find: '    await Promise.allSettled(this.#admitting)\n',
    replace: '',
  },
  {
    name: 'a client that is gone before the start is charged',
    file: GENERATION,
    find: '    void (verdict === null ? this.#finishFree(null) : this.#settle(verdict, (_usage) => undefined))',
    replace: "    void this.#settle(verdict ?? this.#countedVerdict('cancelled'), (_usage) => undefined)",
  },
  {
    name: 'a client that leaves goes unnoticed',
    file: GENERATION,
    find: '    this.#clientGone = true\n    this.#attempt?.resume()\n',
    replace: "    this.#clientGone = true\n    if (this.input.order.delivery === 'events') return\n",
  },
  {
    name: 'a client in its grace loses its answer for good',
    file: GENERATION,
    find: 'if (this.#draining) return this.#settle(',
    replace: 'if (this.#clientGone) return this.#settle(',
  },
  {
    name: 'a broken answer ends as if it were whole',
    file: GENERATION,
    find: '      reader.write(missed)\n      return reader.reset()\n',
    replace: '      return reader.end(missed)\n',
  },
  {
    name: 'who comes back to an answer that is being settled waits for ever',
    file: GENERATION,
    find: "    this.#state = 'done'\n    // Who came back while a cancelled answer was being settled has nothing to wait for.\n    this.#reader?.reset()\n",
    replace: "    this.#state = 'done'\n",
  },
  {
    name: 'holds in memory are forgotten when a write fails',
    file: EMBEDDED,
    find: 'for (const placed of waiting) this.#placeAgain(placed)',
    replace: 'this.#unwritten.holds.clear()',
  },
  {
    name: 'kept rows outlive a failed write',
    file: EMBEDDED,
    find: '      this.#stale = true\n      this.#rollup.reset()\n',
    replace: '      this.#rollup.reset()\n',
  },
  {
    name: 'kept rows outlive the writes of others',
    file: EMBEDDED,
    find: 'if (!full && !this.#stale && this.#coldWrites === coldWrites) return',
    replace: 'if (!full && !this.#stale) return',
  },
  {
    name: 'a free answer is charged before its account has used up what is free',
    file: CORE,
    find: "hold.state === 'open' && isFreeHourUsedUp(account, atMs) && ",
    replace: "hold.state === 'open' && account.freeInsuredMicro > 0n && ",
  },
  {
    name: 'a guarded charge is insured besides',
    file: CORE,
    find: 'insuredMicro: request.insuredMicro - guarded.providerCostMicro',
    replace: 'insuredMicro: request.insuredMicro',
  },
  {
    name: 'journal replay drops what is insured',
    file: JOURNAL,
    find: 'insuredMicro: BigInt(insuredMicro), atMs',
    replace: 'insuredMicro: 0n, atMs',
  },
  {
    name: 'journal replay drops what the provider bills',
    file: JOURNAL,
    find: 'providerCostMicro: BigInt(providerCostMicro), record',
    replace: 'providerCostMicro: 0n, record',
  },
  {
    name: 'journal replay settles in floats',
    file: JOURNAL,
    find: 'costMicro: String(operation.costMicro)',
    replace: 'costMicro: String(BigInt(Math.round(Number(operation.costMicro) / 10)) * 10n)',
  },
  {
    name: 'the journal forgets what an earlier process left',
    file: LEDGER,
    find: '    for (const end of left) this.#ends.resume(end)\n',
    replace: '',
  },
  {
    name: 'who was told by the journal that it is free is charged',
    file: WRITER,
    find: 'queued.operation = unguarded(operation)',
    replace: 'queued.operation = operation',
  },
  {
    name: 'the output bound ignores n',
    file: 'orders/chat-attempt.ts',
    find: ') * written * inputs,',
    replace: ') * inputs,',
  },
  {
    name: 'the output bound ignores the prompts',
    file: 'orders/chat-attempt.ts',
    find: ') * written * inputs,',
    replace: ') * written,',
  },
  {
    name: 'the per-request price is taken once for several prompts',
    file: 'plan/worst-price.ts',
    find: 'return { request: inputs, ',
    replace: 'return { request: 1, ',
  },
  {
    name: 'the hold ignores n',
    file: 'plan/chat-plan.ts',
    find: 'const answers = (input.written ?? request.n) * (input.inputs ?? 1)',
    replace: 'const answers = input.inputs ?? 1',
  },
  {
    name: 'the hold ignores the prompts',
    file: 'plan/chat-plan.ts',
    find: 'const answers = (input.written ?? request.n) * (input.inputs ?? 1)',
    replace: 'const answers = input.written ?? request.n',
  },
  {
    name: 'one prompt of several that reports nothing hides what the others report',
    file: 'orders/fan-out.ts',
    find: "return [{ type: 'usage', usage: this.#told() }]",
    replace: "return this.#usage.includes(null) ? [] : [{ type: 'usage', usage: this.#told() }]",
  },
  {
    name: 'search units are charged however many are said',
    file: 'orders/rerank-order.ts',
    find: 'Math.min(searches, most)',
    replace: 'searches',
  },
  {
    name: 'what a provider reports is booked clamped',
    file: 'plan/usage-bounds.ts',
    find: 'return { report: billed, reported, ',
    replace: 'return { report: billed, reported: billed, ',
  },
  {
    name: 'what falls short is not counted in the guard',
    file: CORE,
    find: 'lostMicro: shortfallMicro, ',
    replace: '',
  },
  {
    name: 'what is free is not counted in the guard',
    file: CORE,
    find: 'countInFreeHour(account, atMs, { lostMicro: insuredMicro })',
    replace: 'countInFreeHour(account, atMs, {})',
  },
  {
    name: 'what is spent is not counted in the guard',
    file: CORE,
    find: ', spentMicro: chargedMicro })',
    replace: ' })',
  },
  {
    name: 'an answer that is read on gives up its place at the provider',
    file: GENERATION,
    find: '    this.#draining = true\n',
    replace: '    this.#draining = true\n    this.#place.release()\n',
  },
  {
    name: 'an answer gives up its place among the running as soon as it begins',
    file: 'relay/relay.ts',
    find: '      this.#running.delete(generation)\n      this.inFlight.leave(accountId, keyId)\n    })',
    replace: '      this.#running.delete(generation)\n    })\n    this.inFlight.leave(accountId, keyId)',
  },
  {
    name: 'a closed month moves: a late charge stands on the day it was placed',
    file: CORE,
    find: "return booked === placed ? '' : booked",
    replace: "return booked === '' ? placed : ''",
  },
  {
    name: 'a closed month moves: a late free answer counts in it',
    file: CORE,
    find: '      hold.bookedDay = bookedDay(hold, account, request.day)\n      this.#addLog',
    replace: '      this.#addLog',
  },
  { name: 'a month opens at nothing', file: STATEMENTS, find: '      opening = closing\n', replace: '' },
  {
    name: 'a month is closed before it is over',
    file: STATEMENTS,
    find: 'const firstOpen = periodStarts(query.nowMs, query.timezone).month',
    replace: 'const firstOpen = periodStarts(query.nowMs + 20_000, query.timezone).month',
  },
  {
    name: 'usage_day loses late charges',
    file: VALUES,
    find: '    sum.revenueMicro += log.costMicro\n',
    replace: "    if (log.bookedDay === '') sum.revenueMicro += log.costMicro\n",
  },
  {
    name: 'usage_day of the embedded store loses late charges',
    file: 'store/sqlite-rollup.ts',
    find: 'SUM(g.cost), SUM(g.provider_cost), SUM(g.insured), SUM(g.shortfall)',
    replace:
      "SUM(CASE WHEN h.booked = '' THEN g.cost ELSE 0 END), SUM(g.provider_cost), SUM(g.insured), SUM(g.shortfall)",
  },
  {
    name: 'usage_day loses what was settled after its lease',
    file: VALUES,
    find: '  for (const log of logs) {\n    const { accountId, keyId, model, providerSlug',
    replace:
      '  for (const log of logs) {\n    if (log.atMs - log.record.createdAtMs > 60_000) continue\n    const { accountId, keyId, model, providerSlug',
  },
  {
    name: 'what is insured is missing in the daily sums',
    file: VALUES,
    find: '    sum.insuredMicro += log.insuredMicro\n',
    replace: '',
  },
  {
    name: 'sums outlive a failed write',
    file: EMBEDDED,
    find: '      this.#stale = true\n      this.#rollup.reset()\n',
    replace: '      this.#stale = true\n',
  },
  {
    name: 'sums begin anew after a restart',
    file: 'store/sqlite-rollup.ts',
    find: "this.#rolledUp = typeof id === 'bigint' ? id : 0n",
    replace: "this.#rolledUp = typeof id === 'bigint' ? 0n : 0n",
  },
]
