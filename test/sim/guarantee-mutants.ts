import { CORE, LEDGER, GENERATION, LIMITS, type Mutant } from './mutant.ts'

/** The list of guarantees.md 3.3; `find` occurs exactly once in its file. */
export const GUARANTEE_MUTANTS: readonly Mutant[] = [
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
    name: 'an overrun takes what no limit leaves',
    file: CORE,
    find: 'least(costMicro - coveredMicro, beyondMicro, leftMicro)',
    replace: 'least(costMicro - coveredMicro, beyondMicro)',
  },
  {
    name: 'the key is skipped when a hold is given back',
    file: CORE,
    find: '    key.heldMicro += heldMicro\n',
    replace: '    if (heldMicro > 0n) key.heldMicro += heldMicro\n',
  },
  {
    name: 'a limit forgets what is held',
    file: LIMITS,
    find: 'spentMicro + heldMicro + amountMicro <= limitMicro',
    replace: 'spentMicro + amountMicro <= limitMicro',
  },
  {
    name: 'a top-up is not idempotent',
    file: 'src/store/ledger/entry-store.ts',
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
    find: 'const voided = await this.#ports.ledger.void({',
    replace: "const voided = error !== null ? { status: 'voided' } as const : await this.#ports.ledger.void({",
  },
  {
    name: 'a hold leaks when its answer is lost',
    file: LEDGER,
    find: '    const outcome = await this.#own.place(operation, isShared)\n',
    replace:
      '    this.#running.add(request.generationId)\n    const outcome = await this.#own.place(operation, isShared)\n',
  },
  {
    name: 'an abort is not billed',
    file: GENERATION,
    find: "void this.#end(outcome === null ? { as: 'free', error: null } : { as: 'charged', outcome, show: showNothing })",
    replace: "void this.#end({ as: 'free', error: null })",
  },
  {
    name: 'a drained answer is not billed',
    file: GENERATION,
    find: '    if (bad !== null) return this.#attemptFailed(bad)',
    replace:
      "    if (this.#draining) return this.#end({ as: 'free', error: null })\n    if (bad !== null) return this.#attemptFailed(bad)",
  },
  {
    name: 'zero usage is taken for missing usage',
    file: 'src/pay/operations/chat-attempt.ts',
    find: 'return usage === null ? this.delivered() : this.#measure(usage)',
    replace:
      "return usage === null || usage.inputTokens === 0 ? this.#measure({ ...countedReport(0, 0), missing: ['input', 'output'] }) : this.#measure(usage)",
  },
  {
    name: 'missing usage is free',
    file: 'src/pay/operations/chat-attempt.ts',
    find: 'return usage === null ? this.delivered() : this.#measure(usage)',
    replace: 'return this.#measure(usage ?? countedReport(0, 0))',
  },
  {
    name: 'implausible usage is believed',
    file: 'src/pay/plan/usage-bounds.ts',
    find: 'if (inputOk && outputOk) return report',
    replace: 'if (inputOk || outputOk || !inputOk) return report',
  },
  {
    name: 'a number that cannot be read is 0',
    file: 'src/pay/plan/usage-bounds.ts',
    find: 'report.missing === undefined ? report : counted(report, limits)',
    replace: 'report',
  },
  {
    name: 'what is charged is booked as what the provider bills',
    file: GENERATION,
    find: 'const billedMicro = providerCostMicro(outcome.reported.usage',
    replace: 'const billedMicro = providerCostMicro(outcome.report.usage',
  },
  {
    name: 'money in floats',
    file: 'src/tables/meters.ts',
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
]
